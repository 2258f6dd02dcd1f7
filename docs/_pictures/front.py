"""The front page's picture: rows of a table before and after, and what they tell; a real run."""

import csv
import math
import runpy
import tempfile
import warnings
from contextlib import chdir
from functools import cache
from pathlib import Path

import lowlift as ll
from _pictures.drawing import box, line, picture, polygon, words
from lowlift.workflow.preview import Preview, preview
from lowlift.workflow.rows import Design, design

FACTOR = 1.5
COLUMNS = ("age", "region", "smoker")
_GUIDE = Path(__file__).resolve().parent.parent / "guide"
#: Left edge of each column, and the height of a row.
_LEFT, _STEP = (0, 62, 138), 25


@cache
def run() -> tuple[Design, Preview]:
    """Return the design for the patients of the guide, and eight of its rows."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ll.LowliftWarning)
        with chdir(folder):
            runpy.run_path(str(_GUIDE / "patients.py"), run_name="__main__")
        source = str(Path(folder) / "patients.csv")
        made = design(source, ll.Schema("disease", list(COLUMNS)), ll.LIP.at_most(FACTOR))
        return made, preview(source, made)


@cache
def rows_of_the_table() -> tuple[tuple[str, ...], ...]:
    """Return every row of the table, without its number; the disease is last."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        runpy.run_path(str(_GUIDE / "patients.py"), run_name="__main__")
        with Path("patients.csv").open(encoding="utf-8") as file:
            return tuple(tuple(row[1:]) for row in list(csv.reader(file))[1:])


def given_away() -> int:
    """Return how many rows have a disease that everybody with the same values has.

    `beliefs` as the table is are those of groups of similar rows, which say less than single rows.
    """
    rows = rows_of_the_table()
    diseases: dict[tuple[str, ...], set[str]] = {}
    for *values, disease in rows:
        diseases.setdefault(tuple(values), set()).add(disease)
    return sum(len(diseases[tuple(values)]) == 1 for *values, _ in rows)


def beliefs() -> list[tuple[str, float, tuple[float, float], tuple[float, float]]]:
    """Return per disease P(s), and the smallest and largest P(s|group of rows) before and after."""
    made, _ = run()
    joint, audit = made.encoded.release.joint, made.encoded.release.audit
    found = []
    for s, name in enumerate(joint.s_labels):
        p = float(joint.p_s[s])
        raw, safe = joint.lift[s] * p, audit.lift[s] * p
        ends = (float(raw.min()), float(raw.max())), (float(safe.min()), float(safe.max()))
        found.append((str(name), p, *ends))
    return found


def _share(value: float) -> str:
    return f"{100 * value:.0f}%"


def _head(x: float, names: tuple[str, ...], title: str) -> list[str]:
    parts = [words((x, 24), title, anchor="start", size=15, bold=True)]
    parts += [
        words((x + left, 50), name, "soft", "start", 12)
        for left, name in zip(_LEFT, names, strict=False)
    ]
    return parts


def _tables(shown: Preview) -> list[str]:
    left, right, top = 24.0, 474.0, 74.0
    parts = [
        *_head(left, shown.before, "Your table"),
        words((left + 222, 50), "disease", "atom-ink", "start", 12, bold=True),
        *_head(right, shown.after, "What you publish"),
        words((right + 222, 50), "disease", "soft", "start", 12),
        box((left + 212, 58), (88, 8 * _STEP + 4), "atom-ink", 0.12),
    ]
    for k, row in enumerate(shown.rows):
        y = top + k * _STEP
        for place, text in zip(_LEFT, row.before, strict=True):
            parts.append(words((left + place, y), str(text), anchor="start"))
        parts.append(words((left + 222, y), str(row.sensitive[0]), "atom-ink", "start"))
        for place, value in zip(_LEFT, row.after, strict=True):
            if value.change:
                parts.append(box((right + place - 6, y - 15), (56, 21), "region-ink", 0.16))
            kind = "region-ink" if value.change else "ink"
            parts.append(
                words((right + place, y), str(value.text), kind, "start", bold=bool(value.change))
            )
        for x in (left, right):
            end = x + (300 if x == left else 210)
            parts.append(line((x - 6, y + 8), (end, y + 8), "faint", 0.4))
    parts += [
        words((390, 160), "lowlift", "region-ink", size=15, bold=True),
        line((352, 172), (422, 172), "region-line", 2),
        line((414, 166), (423, 172), "region-line", 2),
        line((414, 178), (423, 172), "region-line", 2),
        words((388, 194), f"at most {FACTOR:g} times", "soft", size=11),
        words((388, 209), "as likely", "soft", size=11),
        polygon(
            [(right + 216, 58), (right + 330, 58), (right + 330, 262), (right + 216, 262)],
            "faint",
            1,
            1,
            "4 4",
        ),
        words((right + 273, 164), "not published", "soft", size=12),
        box((right + 216, 11), (14, 14), "region-ink", 0.16),
        words((right + 236, 23), "changed", "soft", "start", 12),
    ]
    return parts


def before_and_after() -> str:
    """Draw eight rows before and after, and the range of beliefs that rows lead to."""
    _, shown = run()
    parts = _tables(shown)
    y0, left, right = 318.0, 120.0, 640.0

    def at(share: float) -> float:
        return left + share * (right - left)

    title = "How likely each disease is for someone, once you see their row"
    parts.append(words((24, y0 - 30), title, anchor="start", size=14, bold=True))
    for k, (name, prior, raw, safe) in enumerate(beliefs()):
        y = y0 + k * 40
        parts += [
            words((24, y + 5), name, anchor="start"),
            line((at(0), y), (at(1), y), "faint", 0.5),
            box((at(raw[0]), y - 9), (at(raw[1]) - at(raw[0]), 7), "atom-ink", 0.75),
            box((at(safe[0]), y + 2), (at(safe[1]) - at(safe[0]), 7), "region-ink", 0.9),
            line((at(prior), y - 13), (at(prior), y + 13), "line", 2),
            words(
                (right + 16, y + 5), f"{_share(raw[0])} to {_share(raw[1])}", "atom-ink", "start"
            ),
            words(
                (right + 108, y + 5),
                f"{math.floor(100 * safe[0])}% to {math.ceil(100 * safe[1] - 1e-9)}%",
                "region-ink",
                "start",
                bold=True,
            ),
        ]
    bottom = y0 + 3 * 40 + 2
    alone = (
        "As it is: what groups of similar rows say. Single rows say more: "
        f"{given_away()} of {len(rows_of_the_table()):,} give their disease away."
    )
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(words((at(share), bottom), _share(share), "soft", size=11))
    parts += [
        words((right + 16, y0 - 30), "as it is", "atom-ink", "start", 13),
        words((right + 108, y0 - 30), "published", "region-ink", "start", 13, bold=True),
        words((24, bottom), "│ before", "soft", "start", 11),
        words((24, bottom + 24), alone, "soft", "start", 12),
    ]
    return picture(850, bottom + 38, "Rows of a table before and after, and what they tell", parts)
