"""What is asked before a table is drawn: each warning with its choices, the safe one made."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from lowlift._ledger import EVERYBODY, Entry
from lowlift._wording import capital, counted, joined, percent
from lowlift.errors import InvalidInput
from lowlift.report.limits import is_too_small
from lowlift.tables.schema import OF_CELLS
from lowlift.web.frame import Place
from lowlift.web.work import Prepared, Wishes
from lowlift.workflow import Design
from lowlift.workflow.consulting import Consulted, Earlier

#: The step to which a codebook is rounded when exact numbers would expose counts.
SAFE_STEP = 0.01
#: What a user may do with the codebook.
CODEBOOKS = ("rounded", "withheld", "exact")


class Choice(NamedTuple):
    """One way to go on: the value of a field, what it means, and a note below."""

    value: str
    words: str
    note: str = ""
    is_safe: bool = False


class Way(NamedTuple):
    """A link that changes the setting instead."""

    words: str
    address: str


class Ask(NamedTuple):
    """A warning: its field, what it says, and what can be done.

    Without choices it only tells. With choices of which none is safe, one must be made. One that
    `is_final` cannot be gone beyond here: nothing is written.
    """

    name: str
    title: str
    text: str = ""
    choices: tuple[Choice, ...] = ()
    ways: tuple[Way, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    #: How many times as likely a value becomes by all of it together, at most and at least.
    together: tuple[str, str] = ("", "")
    command: str = ""
    is_final: bool = False
    wants_release: bool = False

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to decide."""
        return not self.is_final and (not self.choices or any(c.is_safe for c in self.choices))


def asks_of(
    made: Design, found: Prepared, wishes: Wishes, place: Place, times: int
) -> tuple[Ask, ...]:
    """Return what is to be settled before this design is drawn."""
    is_rows = made.encoded.name in OF_CELLS
    asks = [*_of_ledger(found.consulted, wishes, place, is_rows=is_rows), *_of_table(times)]
    asks += [_caution(number, text, place) for number, text in enumerate(made.warnings)]
    if found.exposed:
        asks.append(_codebook(found.exposed))
    if found.formulas and wishes.form == "csv":
        asks.append(_formulas(found.formulas))
    if is_too_small(made.intervals, made.audit):
        asks.append(_sample(place))
    return (*asks, _drawn_anew(made, place))


def check(asks: Sequence[Ask], given: dict[str, str]) -> None:
    """Refuse what a user has not decided, or what cannot be gone beyond.

    Raises
    ------
    InvalidInput
        With the title of the first that is open.
    """
    for ask in asks:
        allowed = {choice.value for choice in ask.choices}
        is_open = not ask.is_done and given.get(ask.name) not in allowed
        if ask.is_final or is_open:
            raise InvalidInput(
                f"{ask.title}: decide that first; nothing was written. Go back and choose."
            )


def day(entry: Entry) -> str:
    """Return the day of a publication in words, such as 3 March 2026."""
    at = datetime.fromisoformat(entry.at)
    return f"{at.day} {at:%B %Y}"


def _holder(wishes: Wishes) -> str:
    return "somebody" if wishes.to == EVERYBODY else wishes.to


def _of_ledger(found: Consulted, wishes: Wishes, place: Place, *, is_rows: bool) -> list[Ask]:
    if not found.earlier:
        return []
    title = f"{capital(_holder(wishes))} already has {_tables(len(found.earlier))} of these people"
    ask = Ask("ledger", title, earlier=found.earlier, together=(found.most, found.least))
    if found.holds:
        text = "Together they keep your limit: this is audited on the rows themselves."
        return [ask._replace(text=text)]
    stricter = Way("Choose a stricter limit", place.address("protection"))
    ids = joined([each.entry.id for each in found.earlier])
    if found.holds is None:
        missing = [each for each in found.earlier if not each.is_there]
        text = f"They cannot be audited with this one: {found.reason}"
        text += " Publish rows of a table once, with all columns." if is_rows else ""
        if missing:
            text = (
                "Releases are needed to audit them together, and lowlift keeps none: they hold "
                "values of the data. Give the release file of each table that is marked."
            )
        accept = Choice(
            "accept",
            "Publish although nobody can tell what both together reveal",
            "The ledger records that.",
        )
        wait = Choice("wait", "Do not publish yet")
        choices = (wait, accept)
        wants = bool(missing)
        return [ask._replace(text=text, choices=choices, wants_release=wants)]
    text = "Together, drawn apart, they go beyond your limit: nothing is written for them."
    keyed = [each.entry for each in found.earlier if each.entry.draws == "keyed"]
    command = _refine(keyed[-1], place) if keyed else ""
    text += (
        " Refine the earlier table instead, with the key it was drawn by:"
        if keyed
        else " The earlier table was drawn without a key, so that it cannot be refined: hand out "
        f"that one, or publish all columns once. If it was never handed out: lowlift ledger "
        f"withdraw, with its number ({ids})."
    )
    return [ask._replace(text=text, command=command, ways=(stricter,), is_final=True)]


def _tables(number: int) -> str:
    return "a table" if number == 1 else f"{number} tables"


def _refine(entry: Entry, place: Place) -> str:
    from lowlift.workflow.repeating import bound_options, wrapped

    options = bound_options(place.setting.bound(), place.setting.sensitive)
    words = ["lowlift", "refine", entry.release_file or "release.json", entry.source, *options]
    words += ["--id", entry.id_column or "ID", "--key-file", "draws.key", "-o", "refined.csv"]
    return wrapped(words)


def _of_table(times: int) -> list[Ask]:
    if not times:
        return []
    title = f"You have published this table {counted(times, 'time')} here"
    text = (
        "Each publication is drawn anew: whoever sees two of them learns more than the limit says. "
        "Hand out one."
    )
    choices = (Choice("yes", "Draw from this table once more all the same"),)
    return [Ask("again", title, text, choices)]


def _caution(number: int, text: str, place: Place) -> Ask:
    title, _, rest = text.partition(". ")
    ways = (Way("Change the columns", place.address("columns")),)
    choices = (Choice("yes", "Publish it all the same"),)
    if text.startswith("not published:"):  # what was left out is safe
        return Ask(f"caution:{number}", capital(title), rest)
    return Ask(f"caution:{number}", capital(title), rest, choices, ways)


def _codebook(texts: Sequence[str]) -> Ask:
    text = capital(texts[0].partition(". ")[0]) + "."
    return Ask(
        "codebook",
        "Exact numbers in the codebook would give small counts away",
        text,
        (
            Choice(
                "rounded",
                "Round the codebook to whole percents",
                "The table stays the same. Estimates from it become a little less sharp.",
                is_safe=True,
            ),
            Choice("withheld", "Keep the codebook back", "It is among the files to keep."),
            Choice("exact", "Hand it out exactly"),
        ),
    )


def _formulas(texts: Sequence[str]) -> Ask:
    return Ask(
        "formulas",
        "A spreadsheet would run some texts as formulas",
        capital(texts[0]),
        (
            Choice("parquet", "Write Parquet, which no spreadsheet runs", is_safe=True),
            Choice("csv", "Write CSV with these texts as they are"),
        ),
    )


def _sample(place: Place) -> Ask:
    text = (
        "You said that these rows are everybody. If they are a sample, they are too few to support "
        "the limit for the people they were drawn from."
    )
    ways = (Way("They are a sample", place.address("protection", audience="population")),)
    return Ask("sample", "The promise is about these rows", text, ways=ways)


def _drawn_anew(made: Design, place: Place) -> Ask:
    if made.encoded.name in OF_CELLS:
        text = (
            "A published row is a row of the table, drawn anew inside its cell or a near one. The "
            "limit is on what it tells about the protected columns; it does not promise that "
            "nobody recognises whose row it is. The public report tells its readers."
        )
        return Ask("drawn", "Rows are drawn anew", text)
    text = (
        f"{percent(made.encoded.share_changed)} of the rows are published merged, mixed or "
        "replaced, and no row says which. The public report tells its readers."
    )
    merging = place.address("protection", mechanism="subset-merging")
    ways = (Way("Use merging only, if every published value must be true", merging),)
    is_merged = made.chosen.name in {"subset-merging", "optimal-merging", "watchdog"}
    return Ask("drawn", "Some values are drawn anew", text, ways=() if is_merged else ways)
