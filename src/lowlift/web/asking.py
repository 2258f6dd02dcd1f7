"""What is asked before a table is drawn: each warning with its choices, the safe one made."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from lowlift._exposure import FEW
from lowlift._ledger import EVERYBODY, Entry
from lowlift._wording import capital, counted, percent
from lowlift.errors import InvalidInput
from lowlift.report.limits import is_too_small
from lowlift.tables.schema import OF_CELLS
from lowlift.web.frame import Place
from lowlift.web.settings import shortest
from lowlift.web.work import Prepared, Published, Wishes
from lowlift.workflow import Design
from lowlift.workflow.consulting import Consulted, Earlier

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

    Without choices it only tells; one that `is_caution` tells what speaks against the table, one
    that `is_neutral` what speaks neither for nor against it. With choices of which none is safe,
    one must be made. One that `is_final` cannot be gone beyond here: nothing is written.
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
    is_caution: bool = False
    is_neutral: bool = False
    wants_release: bool = False

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to decide."""
        return not self.is_final and (not self.choices or any(c.is_safe for c in self.choices))

    @property
    def has_box(self) -> bool:
        """Whether its only choice is a box that must be ticked."""
        return len(self.choices) == 1

    @property
    def look(self) -> str:
        """How it is shown: "final", "neutral" or "done"; empty for a warning."""
        if self.is_final:
            return "final"
        if self.is_neutral:
            return "neutral"
        return "done" if self.is_done and not self.is_caution else ""


def asks_of(
    made: Design, found: Prepared, wishes: Wishes, place: Place, drawn: Sequence[str | None]
) -> tuple[Ask, ...]:
    """Return what is to be settled before this design is drawn.

    `drawn` are the digests of what was drawn here from the same table, None where it is not there.
    """
    is_rows = made.encoded.name in OF_CELLS
    asks = _of_ledger(found.consulted, wishes, place, is_rows=is_rows)
    asks += _of_table(drawn, found.consulted)
    asks += [_caution(number, text, place) for number, text in enumerate(made.warnings)]
    if found.rare:
        what = "value" if len(made.spec.schema.released) == 1 else "combination"
        asks.append(codebook_ask(found.rare, counted(made.release.joint.n_x, what), found.step))
    if found.formulas and wishes.form == "csv":
        asks.append(_formulas(found.formulas))
    if is_too_small(made.intervals, made.audit):
        asks.append(_sample(place))
    if found.proves:
        asks.append(_proves(found.proves, place))
    asks.append(_drawn_anew(made, place, is_fitted=found.is_fitted))
    if any(ask.is_final for ask in asks):  # nothing is written: there is nothing to consent to
        asks = [ask for ask in asks if ask.is_final or not ask.choices]
    return tuple(asks)


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


def day(entry: Entry | Published) -> str:
    """Return the day of a publication in words, such as 3 March 2026."""
    at = datetime.fromisoformat(entry.at) if isinstance(entry.at, str) else entry.at
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
        return [ask._replace(text=text, is_caution=found.least == "0")]
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
    entries = [each.entry for each in found.earlier]
    text = _why_beyond(len(entries), wishes)
    keyed = [each for each in entries if each.draws == "keyed" and each.encoding not in OF_CELLS]
    if keyed:
        text += " Refine the earlier table instead, with the key it was drawn by:"
        command = _refine(keyed[-1], place)
    else:
        columns = {*place.setting.released, *wishes.keep}
        is_same = all({*each.released, *each.kept} == columns for each in entries)
        text += f" {_why_not_refined(entries, is_same=is_same)}"
        command = "\n".join(f"lowlift ledger withdraw {each.id}" for each in entries)
    ways = _looser(found, place)
    return [ask._replace(text=text, command=command, ways=ways, is_final=True)]


def _looser(found: Consulted, place: Place) -> tuple[Way, ...]:
    """Return the way to a limit that what was found keeps; none does where a value is ruled out."""
    least, setting = float(found.least), place.setting
    if setting.criterion or not least:
        return ()
    factor = max(float(found.most), math.ceil(100 / least) / 100)
    words = f"Allow at least {shortest(factor)} times (Protection)"
    return (Way(words, place.address("protection", limit=factor)),)


def _why_beyond(n_earlier: int, wishes: Wishes) -> str:
    """Return why tables that each keep a limit go beyond it together."""
    draws, has, each = "two draws", "both", "either"
    if n_earlier > 1:
        draws, has, each = "draws", "all of them", "each"
    whom = "" if wishes.to == EVERYBODY else f" for {wishes.to}"
    return (
        f"The {draws} are independent, so limits do not add up: whoever has {has} can work out "
        f"more than {each} allows. Nothing is written{whom}."
    )


def _why_not_refined(entries: Sequence[Entry], *, is_same: bool) -> str:
    """Return why, and what to do instead; all columns at once only unless they are the same."""
    n_rows = sum(each.encoding in OF_CELLS for each in entries)
    instead = "" if is_same else ", or publish all columns once"
    if len(entries) > 1:
        why = {0: "were drawn without a key", len(entries): "have rows drawn from cells"}
        several = why.get(n_rows, "have rows drawn from cells, or were drawn without a key")
        return (
            f"The earlier tables {several}, so they cannot be refined. Let them keep "
            f"those{instead}. Withdraw those that were never handed out:"
        )
    why_one = "has rows drawn from cells" if n_rows else "was drawn without a key"
    return (
        f"The earlier table {why_one}, so it cannot be refined. Let them keep that one{instead}. "
        "If it was never handed out, withdraw it:"
    )


def _tables(number: int) -> str:
    return "a table" if number == 1 else f"{number} tables"


def _refine(entry: Entry, place: Place) -> str:
    from lowlift.workflow.repeating import bound_options, wrapped

    options = bound_options(place.setting.bound(), place.setting.sensitive)
    words = ["lowlift", "refine", entry.release_file or "release.json", entry.source, *options]
    words += ["--id", entry.id_column or "ID", "--key-file", "draws.key", "-o", "refined.csv"]
    return wrapped(words)


def _of_table(drawn: Sequence[str | None], found: Consulted) -> list[Ask]:
    """Return what is asked of a table that was drawn here; nothing if all is audited together."""
    audited = {each.entry.output_sha256 for each in found.earlier if found.holds} - {None}
    if audited.issuperset(drawn):
        return []
    times = len(drawn)
    often = {1: "once", 2: "twice"}.get(times, f"{times} times")
    title = f"You have published this table {often} here"
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


def codebook_ask(rare: int, values: str, step: float | None) -> Ask:
    """Return what is asked of a codebook that would expose counts, unless rounded to a step.

    `rare` of the `values`, such as 14 combinations, have few rows.
    """
    text = (
        f"{rare} of {values} {'occurs' if rare == 1 else 'occur'} in fewer than {FEW} rows. Exact "
        "shares in the codebook would tell in how many."
    )
    kept = Choice("withheld", "Keep the codebook back", "It is among the files to keep.")
    exact = Choice("exact", "Hand it out exactly")
    title = "Exact numbers in the codebook would give small counts away"
    if step is None:
        text += " Rounding does not hide them."
        return Ask("codebook", title, text, (kept._replace(is_safe=True), exact))
    words = "whole percents" if step == 0.01 else f"steps of {100 * step:g}%"
    rounded = Choice(
        "rounded",
        f"Round the codebook to {words}",
        "The table stays the same. Estimates from it become a little less sharp.",
        is_safe=True,
    )
    return Ask("codebook", title, text, (rounded, kept, exact))


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
        "These rows are taken to be everybody. If they are a sample, they are too few to support "
        "the limit for the people they were drawn from."
    )
    ways = (Way("They are a sample", place.address("protection", audience="population")),)
    return Ask("sample", "The promise is about these rows", text, ways=ways, is_caution=True)


def _proves(text: str, place: Place) -> Ask:
    choices = (Choice("yes", "Publish it all the same"),)
    ways = (Way("Change the limit or the criterion", place.address("protection")),)
    return Ask("proves", "A published row can prove a value", text, choices, ways)


def _drawn_anew(made: Design, place: Place, *, is_fitted: bool) -> Ask:
    if made.encoded.name in OF_CELLS:
        text = (
            "A published row is a row of the table, drawn anew inside its cell or a near one. The "
            "limit is on what it tells about the protected columns; it does not promise that "
            "nobody recognises whose row it is. The public report tells its readers."
        )
        return Ask("drawn", "Rows are drawn anew", text, is_neutral=True)
    if not made.encoded.share_changed:
        text = "Every row is published as it is: the columns tell no more than this limit allows."
        return Ask("drawn", "No value is changed", text)
    share = percent(made.encoded.share_changed)
    if made.encoded.name == "groups":
        text = f"{share} of the rows are published as a group of values, of which one is theirs."
        return Ask("drawn", "Some values are merged", text)
    text = (
        f"{share} of the rows are published merged, mixed or replaced, and no row says which. The "
        "public report tells its readers."
    )
    if is_fitted:
        text += (
            " Values are drawn by weights that were fitted to the protected ones: whoever studies "
            "the codebook can estimate how protected and published values go together. The limit "
            "is against a reader who knows that already; if it must stay confidential, use "
            "merging only."
        )
    merging = place.address("protection", mechanism="subset-merging")
    ways = (Way("Use merging only, if every published value must be true", merging),)
    is_merged = made.chosen.name in {"subset-merging", "optimal-merging", "watchdog"}
    return Ask(
        "drawn",
        "Some values are drawn anew",
        text,
        ways=() if is_merged else ways,
        is_caution=is_fitted,
    )
