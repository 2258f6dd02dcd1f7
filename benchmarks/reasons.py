"""Why another takes less time than ours, where it does: kept beside the contests, shown with them.

`pages` lists a reason wherever a ratio is below 1, and `run` refuses to publish a record that has
such a ratio and no reason here.
"""

from typing import Any

#: By the heading of the contests and the beginning of who does it.
REASONS: dict[tuple[str, str], str] = {
    ("Audit a table", "pandas crosstab"): (
        "it counts and divides floats: no exact verdict, none per column, no intervals, and rows "
        "with a missing value left out. Opening a private DuckDB, which reads any table by the "
        "same rules, takes longer than counting a small one"
    ),
    ("Audit a table", "pycanon"): (
        "on a table of some thousand rows, opening a private DuckDB takes longer than all of its "
        "work; it grows with the classes, ours hardly"
    ),
    ("Enforce a bound on a table", "best full-domain recoding"): (
        "it tries 24 generalisations; ours solves for the best mechanism and proves how near it "
        "is, and keeps more of X"
    ),
    ("Enforce a bound on a table", "anjana"): (
        "it generalises whole columns until the bound holds; ours solves for the best mechanism "
        "and proves how near it is, and keeps more of X"
    ),
    ("Enforce a bound on a table", "lowlift subset_merging"): (
        "a mechanism of ours that merges values and searches no mixtures: it keeps less of X"
    ),
    ("Tables in engines", "bare GROUP BY"): "it checks nothing: neither the types nor the limits",
    ("Tables in engines", "plain copy"): (
        "a copy neither counts nor draws. Ours counts S by X, checks the bound, draws each row, "
        "reads back what it wrote and hashes both files; keyed draws also copy the rows to a "
        "private place, check the ids and take a SHA-256 of each"
    ),
    ("Tables in engines", "SHA-256 of each id"): (
        "a part of what keyed draws do: it shows what they cannot go below in this engine"
    ),
    ("Tables in engines", "lowlift apply, keyed"): (
        "the same draws, made with the ids; fresh draws need only counts"
    ),
    ("Leakage measures", "qif"): (
        "one call of compiled C++ on the P(y|s) that it is given. Ours is two or three calls of "
        "NumPy, about a microsecond each, after a look whether P(s, y) of this pair is known"
    ),
    ("Leakage measures", "dit"): (
        "it is given P(s, y) and checks nothing; ours begins with P(s, x) and the channel"
    ),
    ("Merging", "lowlift subset_merging"): (
        "the greedy mechanism of ours; the other one searches all partitions, and keeps more"
    ),
    ("Random response", "lowlift subset_random_response"): (
        "a mechanism of ours that randomises inside few subsets; the other one proves how near it "
        "is to the best, and keeps more"
    ),
    ("Random response", "qhull + HiGHS"): (
        "with a few dozen vertices, listing them and one linear program in floats take less than "
        "a millisecond; ours rounds to whole weights, audits them exactly and proves the bound"
    ),
    ("Start", "numpy"): "lowlift imports NumPy",
    ("Start", "import typer"): "the packages that write the help, without the commands",
    ("Start", "Python alone"): "nothing is imported",
}


#: How many copies keyed draws should take, where it is not 5.
_AIMS = {"Spark": 3}


def reason_of(contest: dict[str, Any], rival: dict[str, Any]) -> str | None:
    """Return why a rival takes less time; None without a reason."""
    for (group, who), reason in REASONS.items():
        if contest["group"] == group and rival["who"].startswith(who):
            return reason
    return None


def copies(contests: list[dict[str, Any]]) -> str:
    """Say how many plain copies keyed draws take in each engine, and the least they can take."""
    lines = []
    for contest in contests:
        times = {e["who"]: e["seconds"]["median"] for e in (contest["ours"], *contest["rivals"])}
        drawn, copied, hashed = (
            next((seconds for who, seconds in times.items() if part in who), None)
            for part in ("keyed", "plain copy", "SHA-256")
        )
        if drawn is None or copied is None:
            continue
        engine = contest["data"].split(",")[0]
        what = "ids that are texts" if "texts" in contest["name"] else "ids"
        aim = _AIMS.get(engine, 5)
        words = f"- {engine}, {what}: {drawn / copied:.2g} copies (aim {aim})"
        if hashed is not None:
            words += f"; a SHA-256 of each id, and nothing else, takes {hashed / copied:.2g}"
            words += ", so the aim cannot be reached" * (hashed >= aim * copied)
        lines.append(f"{words}.")
    head = "Keyed draws, against the plain copy in the same engine:"
    return "\n".join([head, "", *lines]) if lines else ""


def is_ahead(rival: dict[str, Any]) -> bool:
    """Tell whether a rival takes less time than ours."""
    return bool(rival["ratio"]["median"] < 1)


def unexplained(results: dict[str, Any], unlike: str) -> list[str]:
    """Return who takes less time than ours without a reason; groups of another promise aside."""
    return [
        f"{contest['group']}, {contest['name']}: {rival['who']}"
        for contest in results["contests"]
        for rival in contest["rivals"]
        if is_ahead(rival)
        and not contest["group"].startswith(unlike)
        and reason_of(contest, rival) is None
    ]
