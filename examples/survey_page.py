"""Make a survey page that protects each answer before it is stored, and works offline.

Usage: python examples/survey_page.py FOLDER

A pilot study (the marriage survey of ``survey.py``) says how answers go together with the sensitive
question. A release is designed on it, exported to JavaScript and put into one HTML file. FOLDER
gets survey.html, survey.codebook.json (public) and survey.release.json (confidential). Open the
page from the file, answer, download answers.csv, then:

    lowlift estimate answers.csv survey.codebook.json --by marriage

Needs ``pip install statsmodels pandas``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from survey import RATING, RELIGIOUS, survey

import lowlift as ll
from lowlift.workflow import Asked, codebook_of, design

TEMPLATE = Path(__file__).with_suffix(".html")
WORDING: dict[str, Any] = {
    "title": "Two questions about marriage",
    "intro": "Your browser changes some answers by chance before it stores them: a stored answer "
    "makes an affair at most 1.5 times as likely as it was, and at least two thirds as likely. "
    "Many answers together still tell the truth.",
    "questions": {
        "marriage": "How do you rate your marriage?",
        "religious": "How religious are you?",
    },
    "order": {"marriage": list(RATING.values()), "religious": list(RELIGIOUS.values())},
    "unknown": "These answers cannot be protected: nobody gave them in the pilot study.",
}


def main() -> None:
    """Design on the pilot study and write the three files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "survey")
    folder.mkdir(parents=True, exist_ok=True)
    # Of the mechanisms, this one leaves shares that can be estimated best from few answers.
    asked = Asked(("affair",), ("marriage", "religious"))
    made = design(
        survey(), asked, ll.LIP.at_most(1.5), mechanism="least-distortion", encoding="values"
    )
    made.release.to_json(folder / "survey.release.json")
    codebook_of(made).to_json(folder / "survey.codebook.json")
    (folder / "survey.html").write_text(page_of(made.release, WORDING), "utf-8")
    print(f"Wrote survey.html, survey.codebook.json and survey.release.json to {folder}.")


def page_of(release: ll.Release, wording: dict[str, Any]) -> str:
    """Return the page of a release; `wording` has a title, an intro and the questions."""
    template = TEMPLATE.read_text("utf-8")
    # Inside a script element, "<" of a text could end it.
    texts = json.dumps(wording).replace("<", "\\u003c")
    before, _, rest = template.partition("/*MODULE*/")
    between, _, after = rest.partition("/*WORDING*/")
    module = ll.export(release, "javascript").text
    return f"{before}{module}{between}{texts}{after}"


if __name__ == "__main__":
    main()
