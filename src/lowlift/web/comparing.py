"""Settings side by side: one table, of which each row says the same of every setting."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from lowlift._ledger import EVERYBODY, folded
from lowlift._wording import capital, joined
from lowlift.criteria import Population
from lowlift.report.outcome import CANNOT, MOVED, USEFUL, Outcome
from lowlift.tables.schema import OF_CELLS
from lowlift.web.cards import day
from lowlift.web.frame import Place
from lowlift.web.naming import (
    MISSING,
    bins_text,
    bound_texts,
    changed,
    columns_of,
    part_of,
    titles_of,
)
from lowlift.web.recorded import Again
from lowlift.web.settings import Setting
from lowlift.web.words import NAMES, TELLS
from lowlift.web.work import Answer
from lowlift.workflow.consulting import Sum, names_of
from lowlift.workflow.published import Recorded

_CELLS = "automatic cells"
#: The row on how values are changed.
_HOW = "How values are changed"
#: How many values of S a comparison shows, and recipients in a head.
_MOST_VALUES, _MOST_WARNED = 6, 2
#: What a comparison says of what neither the ledger nor a release tells, and of what is not there.
NOT_KEPT, NOT_THERE = "not in the ledger", "does not apply"
#: What it says of sums that are not there yet, and of publications that the sums are of.
WORKING, COUNTED, NOT_COUNTED = "being computed", "they have it", "not given to them"
#: Digits of a number that are compared: more are errors of its computation.
_DIGITS = 9


class Cell(NamedTuple):
    """What a row says of a setting; `picture` is an ``<svg>`` element.

    `is_beyond` is of a sum that goes beyond the setting's limit.
    """

    text: str
    picture: str = ""
    differs: bool = False
    is_best: bool = False
    is_beyond: bool = False


class Row(NamedTuple):
    """A row of the comparison."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def is_same(self) -> bool:
        """Whether all settings agree."""
        return not any(cell.differs for cell in self.cells)


class Head(NamedTuple):
    """The head of a setting's column; `answer` is None while it is worked on or refused."""

    letter: str
    title: str
    place: Place
    answer: Answer | None
    problem: str = ""
    #: Who got a table of this setting; empty for nobody.
    published_for: tuple[str, ...] = ()
    #: The day on which the ledger has it as published; empty where it does not.
    in_ledger: str = ""
    #: The publication of the ledger that this is, and the setting that it had, if that is known.
    recorded: Recorded | None = None
    again: Again | None = None
    #: What recipients would hold with what the ledger has; None while that is computed.
    sums: tuple[Sum, ...] | None = None

    @property
    def said(self) -> Outcome | None:
        """What is said of the release, if there is one."""
        if self.recorded is not None:
            return self.recorded.said
        return None if self.answer is None else self.answer.said

    @property
    def refused(self) -> str:
        """For whom it goes beyond its limit, with what they have; empty for nobody.

        Who has a table of this setting got it within its limit: only another one goes beyond it.
        """
        every = [one.recipient for one in self.sums or ()]
        names = [one.recipient for one in self.sums or () if one.holds is False]
        here = {folded(name) for name in self.published_for}
        again = [name for name in names if not here.isdisjoint({folded(name), EVERYBODY})]
        new = [name for name in names if name not in again]
        if not again:
            found = "anybody" if len(names) == len(every) else _listed(names)
            return f"Not for {found}" if names else ""
        if not new:
            return f"Not again for {'anybody' if len(names) == len(every) else _listed(again)}"
        others = "anybody else" if len(names) == len(every) else _listed(new)
        return f"Not for {others}, and not again for {_listed(again)}"

    @property
    def limit(self) -> str:
        """The limit in few words."""
        if self.recorded is not None and self.again is None:
            return self.recorded.entry.criterion
        return titles_of([(self.place if self.again is None else self.again).setting])[0]

    @property
    def day(self) -> str:
        """The day of the publication that this is."""
        return "" if self.recorded is None else day(self.recorded.entry)

    @property
    def mechanism(self) -> str:
        """The mechanism that it is made by; empty where that is not known."""
        if self.recorded is not None:
            return self.recorded.mechanism
        if self.answer is not None and self.answer.design is not None:
            return self.answer.design.chosen.name
        return self.place.setting.mechanism.replace("auto", "")

    @property
    def unsaid(self) -> str:
        """What is said in place of a value that this has not; nothing while it is worked on."""
        if self.recorded is not None and self.recorded.said is None:
            return NOT_KEPT
        return "" if self.said is None and self.answer is None and not self.problem else NOT_THERE


def _listed(names: Sequence[str]) -> str:
    """Return recipients in few words; all whom nobody names are everybody else."""
    found = ["everybody else" if name == EVERYBODY else name for name in names]
    if len(found) > _MOST_WARNED:
        found = [found[0], f"{len(found) - 1} others"]
    return joined(found, "or")


def recipients_of(found: Sequence[Recorded]) -> tuple[str, ...]:
    """Return who got publications of their own, the newest first."""
    names = names_of([each.entry for each in reversed(found)])
    return tuple(name for name in names if name != EVERYBODY)


def sections(
    found: Sequence[Head], recipients: Sequence[str] | None = None
) -> list[tuple[str, list[Row]]]:
    """Return the rows of the comparison under their headings; the first setting is compared to.

    `recipients` got publications of the same people before; None where there are none.
    """
    first = found[0].place.setting
    published = _row("Published for", [joined(h.published_for) or "nobody yet" for h in found])
    rows = [*_settings(found), *([published] if any(h.published_for for h in found) else [])]
    parts = [
        ("What was set", rows),
        (_told_by(first), _beliefs(found)),
        ("What is kept", _kept(found)),
        ("With what was published before", _together(found, recipients)),
    ]
    return [(name, rows) for name, rows in parts if rows]


def _told_by(setting: Setting) -> str:
    return f"What a row can tell of {joined(setting.sensitive)}"


def _row(
    name: str, texts: Sequence[str], pictures: Sequence[str] = (), compared: Sequence[str] = ()
) -> Row:
    """Return a row that compares its texts, or what else is `compared` in their place."""
    shown, compared = pictures or [""] * len(texts), compared or texts
    # What is not known (yet) or does not apply is no difference.
    same = {compared[0], NOT_KEPT, NOT_THERE, ""}
    differs = (compared[0] != "" and one not in same for one in compared)
    cells = zip(texts, shown, differs, strict=True)
    return Row(name, tuple(Cell(*cell) for cell in cells))


def _measured(
    name: str,
    texts: Sequence[str],
    numbers: Sequence[float | None],
    pictures: Sequence[str] = (),
    compared: Sequence[str] = (),
) -> Row:
    """Return a row that compares the numbers that its texts round.

    Where a text is that of the first all the same, it says to which side the number lies.
    """
    every = [
        text if number is None else f"{number:.{_DIGITS}g} {more}"
        for text, number, more in zip(texts, numbers, compared or [""] * len(texts), strict=True)
    ]
    shown = [
        f"{text}, a little {'more' if number > numbers[0] else 'less'}"
        if numbers[0] is not None
        and number is not None
        and text == texts[0]
        and f"{number:.{_DIGITS}g}" != f"{numbers[0]:.{_DIGITS}g}"
        else text
        for text, number in zip(texts, numbers, strict=True)
    ]
    return _row(name, shown, pictures, every)


def _settings(found: Sequence[Head]) -> list[Row]:
    first = found[0].place.setting
    every = [_said_of(head, first) for head in found]
    # One that was chosen by itself is the same as the one that it is.
    compared = {_HOW: [head.mechanism for head in found]}
    return [
        _row(name, [texts[name] for texts in every], compared=compared.get(name, ()))
        for name in every[0]
    ]


def _said_of(head: Head, first: Setting) -> dict[str, str]:
    """Return what was set, by the names of the rows."""
    if head.recorded is not None:
        return _recorded_texts(head.recorded, head.again, first)
    one, made = head.place.setting, None if head.answer is None else head.answer.design
    is_rows = made is not None and made.encoded.name in OF_CELLS
    return {
        **bound_texts(one),
        "Protected": joined(one.sensitive),
        "Columns": columns_of(one.released, first),
        "What matters": ", ".join(f"{name} {word}" for name, word in one.weights) or "all alike",
        "Groups": _CELLS if is_rows else bins_text(one.bins),
        _HOW: changed(head.mechanism or one.mechanism),
        "Missing values": MISSING[one.missing],
    }


def _recorded_texts(found: Recorded, known: Again | None, first: Setting) -> dict[str, str]:
    """Return what the ledger and the release, if it is there, tell of what was set."""
    entry = found.entry
    if known is None:
        is_sample = isinstance(found.criterion, Population)
        who = "a sample" if is_sample else "all there are" if found.criterion else NOT_KEPT
        bound = {"Limit": entry.criterion, "The limit is": NOT_KEPT, "The rows are": who}
    else:
        bound = bound_texts(known.setting)
    kept = f", {joined(entry.kept)} as they are" if entry.kept else ""
    is_rows = entry.encoding in OF_CELLS
    bins = _CELLS if is_rows else bins_text(found.bins) if found.is_there else NOT_KEPT
    return {
        **bound,
        "Protected": joined(entry.sensitive),
        "Columns": columns_of(entry.released, first) + kept,
        "What matters": NOT_KEPT if is_rows else "all alike",
        "Groups": bins,
        _HOW: changed(found.mechanism) or NOT_KEPT,
        "Missing values": MISSING.get(found.missing, NOT_KEPT),
    }


def _beliefs(found: Sequence[Head]) -> list[Row]:
    """Return what others can believe, of the values of S that the first answer has."""
    said = [head.said for head in found]
    first = next((each for each in said if each is not None), None)
    if first is None:
        return []
    beliefs = [{b.value: b for b in each.beliefs} if each else {} for each in said]
    rows = []
    for value in [belief.value for belief in first.beliefs][:_MOST_VALUES]:
        here = [each.get(value) for each in beliefs]
        texts = [
            head.unsaid if one is None else one.in_short
            for head, one in zip(found, here, strict=True)
        ]
        numbers = [None if one is None else float(one.most) for one in here]
        pictures = ["" if one is None else one.picture for one in here]
        before = ["" if one is None else f"{float(one.before):.{_DIGITS}g}" for one in here]
        rows.append(_measured(value, texts, numbers, pictures, before))
    return rows


def _kept(found: Sequence[Head]) -> list[Row]:
    """Return what is kept; the best is told among settings that publish in the same form."""
    # What goes beyond its limit for somebody, or speaks against its columns, is not the best.
    named = [h.answer is not None and h.answer.shown in {NAMES, TELLS} for h in found]
    said = [
        None if h.refused or is_named else h.said for h, is_named in zip(found, named, strict=True)
    ]
    every = [head.said for head in found]
    forms = [{kept.words: kept for kept in each.kept} if each else {} for each in every]
    is_alike = len({tuple(form) for form in forms if form}) == 1
    rows = []
    for name in dict.fromkeys(words for form in forms for words in form):
        here = [form.get(name) for form in forms]
        texts = [one.value if one else head.unsaid for one, head in zip(here, found, strict=True)]
        numbers = [one.number if one else None for one in here]
        row = _measured(capital(name.removeprefix("of ")), texts, numbers)
        rows.append(_with_best(row, said, -1 if name == MOVED else 1) if is_alike else row)
    return rows


def _together(found: Sequence[Head], recipients: Sequence[str] | None) -> list[Row]:
    """Return what each recipient would hold, a row for each; everybody else is the last."""
    if recipients is None:
        return []
    names = {name: f"{capital(name)}, together" for name in recipients}
    names[EVERYBODY] = "Everybody else" if recipients else "Everybody, together"
    # A factor on these rows is no better or worse than one for a population or other readers.
    settings = [head.place.setting for head in found if head.recorded is None]
    kinds = {(s.sensitive, s.audience, s.criterion == "every-prior") for s in settings}
    rows = []
    for recipient, name in names.items():
        texts = [_sum_words(head, recipient) for head in found]
        sums = [_sum_of(head, recipient) for head in found]
        known = ["" if one is None else text for one, text in zip(sums, texts, strict=True)]
        row = _row(name, texts, compared=known)
        if len(kinds) == 1 and WORKING not in texts:
            pairs = zip(found, sums, strict=True)
            said = [
                head.said if one and one.holds and one.most and not head.refused else None
                for head, one in pairs
            ]
            row = _with_best(row, said, -1)
        cells = [
            cell._replace(is_beyond=one is not None and one.holds is False)
            for cell, one in zip(row.cells, sums, strict=True)
        ]
        rows.append(row._replace(cells=tuple(cells)))
    return rows


def _sum_of(head: Head, recipient: str) -> Sum | None:
    return next((one for one in head.sums or () if one.recipient == recipient), None)


def _sum_words(head: Head, recipient: str) -> str:
    """Return what a recipient would hold: a factor, or why there is none."""
    if head.recorded is not None:
        holders = {folded(recipient), EVERYBODY}
        return COUNTED if head.recorded.entry.holder in holders else NOT_COUNTED
    one = _sum_of(head, recipient)
    if one is None:
        is_refused = head.problem or (head.answer is not None and head.answer.state == CANNOT)
        return NOT_THERE if is_refused or head.sums is not None else WORKING
    if one.holds is None:
        return "cannot be told" + (": a release is missing" if one.is_missing else "")
    if one.holds:
        return f"{one.most} times" if one.most else "within its limit"
    # Either end may be what breaks it.
    ends = f"up to {one.most} times, or {_lower_end(one.least)}: " if one.most else ""
    return f"{ends}beyond its limit"


def _lower_end(least: str) -> str:
    """Return how far a value's likelihood can fall where the limit is not kept.

    Examples
    --------
    >>> _lower_end("0.0341"), _lower_end("0.5"), _lower_end("0")
    ('down to 0.0341 times', 'down to half', 'a value is ruled out')
    """
    return f"down to {part_of(least, is_kept=False)}" if float(least) else "a value is ruled out"


def _with_best(row: Row, said: Sequence[Outcome | None], sign: int) -> Row:
    """Return a row with its best value marked, if one setting alone has it and is useful.

    The best is the largest value, or with sign -1 the smallest.
    """
    pairs = list(zip(row.cells, said, strict=True))
    numbers = [-math.inf if each is None else sign * _number(cell.text) for cell, each in pairs]
    at = numbers.index(max(numbers))
    best = said[at]
    is_alone = numbers.count(numbers[at]) == 1 and len(said) - said.count(None) > 1
    if not is_alone or best is None or best.shown != USEFUL:
        return row
    cells = list(row.cells)
    cells[at] = cells[at]._replace(is_best=True)
    return row._replace(cells=tuple(cells))


def _number(text: str) -> float:
    """Return a number that is shown; one that is only bounded lies between its neighbours.

    Examples
    --------
    >>> _number("91%"), _number("<1%"), _number(">99%"), _number("1,204"), _number("<0.1")
    (91.0, 0.5, 99.5, 1204.0, 0.05)
    """
    number = float("".join(c for c in text if c.isdigit() or c == "."))
    return number / 2 if text[:1] == "<" else number + 0.5 * (text[:1] == ">")
