"""Settings side by side: one table, of which each row says the same of every setting."""

from collections.abc import Sequence
from typing import NamedTuple

from lowlift._wording import capital, joined
from lowlift.report.outcome import USEFUL
from lowlift.web.frame import Place
from lowlift.web.settings import Setting, shortest
from lowlift.web.work import Answer

_MISSING = {"value": "a value of their own", "drop": "their rows are left out", "error": "an error"}
#: Values of S that a comparison shows.
_MOST_VALUES = 6


class Cell(NamedTuple):
    """What a row says of a setting; `picture` is an ``<svg>`` element."""

    text: str
    picture: str = ""
    differs: bool = False
    is_best: bool = False


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


def heads(
    places: Sequence[Place],
    answers: Sequence[Answer | str | None],
    published: Sequence[tuple[Setting, str]] = (),
) -> list[Head]:
    """Return the heads of the columns; `published` are settings of tables and who got them."""
    found = []
    for letter, place, answer in zip("ABCDEFGH", places, answers, strict=False):
        problem = answer if isinstance(answer, str) else ""
        ready = answer if isinstance(answer, Answer) else None
        to = tuple(dict.fromkeys(who for setting, who in published if setting == place.setting))
        found.append(Head(letter, title_of(place.setting), place, ready, problem, to))
    return found


def title_of(setting: Setting) -> str:
    """Return a setting in a few words."""
    who = "everybody" if setting.audience == "table" else "sample"
    if setting.criterion:
        return f"{setting.criterion}, {shortest(setting.epsilon)} nats, {who}"
    return f"{shortest(setting.limit)} times, {who}"


def sections(found: Sequence[Head]) -> list[tuple[str, list[Row]]]:
    """Return the rows of the comparison under their headings; the first setting is compared to."""
    settings = [head.place.setting for head in found]
    published = _row("Published for", [joined(h.published_for) or "nobody yet" for h in found])
    rows = [*_settings(settings), *([published] if any(h.published_for for h in found) else [])]
    parts = [("What was set", rows), (_told_by(settings[0]), _beliefs(found))]
    return [(name, rows) for name, rows in (*parts, ("What is kept", _kept(found))) if rows]


def _told_by(setting: Setting) -> str:
    return f"What a row can tell of {joined(setting.sensitive)}"


def _row(name: str, texts: Sequence[str], pictures: Sequence[str] = ()) -> Row:
    shown = pictures or [""] * len(texts)
    cells = zip(texts, shown, strict=True)
    return Row(name, tuple(Cell(text, svg, text != texts[0]) for text, svg in cells))


def _criterion(setting: Setting) -> str:
    if setting.criterion == "every-prior":
        return f"every-prior, at least {shortest(setting.at_least)}"
    return setting.criterion or "on each value"


def _settings(settings: Sequence[Setting]) -> list[Row]:
    rows = {
        "Limit": [
            f"{shortest(one.epsilon)} nats"
            + ("" if one.split == Setting.split else f", lambda {shortest(one.split)}")
            if one.criterion
            else f"{shortest(one.limit)} times"
            for one in settings
        ],
        "Criterion": [_criterion(one) for one in settings],
        "The rows are": [
            "everybody" if one.audience == "table" else f"a sample, {100 * one.confidence:g}%"
            for one in settings
        ],
        "Protected": [joined(one.sensitive) for one in settings],
        "Columns": [_columns(one, settings[0]) for one in settings],
        "What matters": [
            ", ".join(f"{name} {word}" for name, word in one.weights) or "all alike"
            for one in settings
        ],
        "Bins": [", ".join(f"{n} {text}" for n, text in one.bins) or "none" for one in settings],
        "Mechanism": [one.mechanism for one in settings],
        "Missing values": [_MISSING[one.missing] for one in settings],
    }
    return [_row(name, texts) for name, texts in rows.items()]


def _columns(setting: Setting, first: Setting) -> str:
    """Return how many columns are published, and how they differ from the first setting's."""
    less = [name for name in first.released if name not in setting.released]
    more = [name for name in setting.released if name not in first.released]
    words = f"{len(setting.released)}"
    words += f", without {joined(less)}" if less else ""
    return words + (f", with {joined(more)}" if more else "")


def _beliefs(found: Sequence[Head]) -> list[Row]:
    """Return what others can believe, of the values of S that the first answer has."""
    said = [head.answer.said if head.answer is not None else None for head in found]
    first = next((each for each in said if each is not None), None)
    if first is None:
        return []
    beliefs = [{b.value: b for b in each.beliefs} if each else {} for each in said]
    rows = []
    for value in [belief.value for belief in first.beliefs][:_MOST_VALUES]:
        here = [each.get(value) for each in beliefs]
        texts = ["" if one is None else one.words.replace(" before,", " to") for one in here]
        texts = [text.removesuffix(" after") for text in texts]
        rows.append(_row(value, texts, ["" if one is None else one.picture for one in here]))
    return rows


def _kept(found: Sequence[Head]) -> list[Row]:
    """Return what is kept; the best is told among settings that publish in the same form."""
    said = [head.answer.said if head.answer is not None else None for head in found]
    names = list(dict.fromkeys(kept.words for each in said if each for kept in each.kept))
    rows = []
    for name in names:
        values = [
            {k.words: k.value for k in each.kept}.get(name, "") if each else "" for each in said
        ]
        rows.append(_row(capital(name.removeprefix("of ")), values))
    useful = [each is not None and each.state == USEFUL for each in said]
    if rows and sum(useful) > 1 and len({tuple(k.words for k in s.kept) for s in said if s}) == 1:
        shares = [
            each.share if each and ok else -1.0 for each, ok in zip(said, useful, strict=True)
        ]
        best = [share == max(shares) and shares.count(share) == 1 for share in shares]
        cells = zip(rows[0].cells, best, strict=True)
        rows[0] = rows[0]._replace(cells=tuple(c._replace(is_best=b) for c, b in cells))
    return rows
