"""What the ledger says of who gets a table, as cards: nothing, a sum that holds, or none."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from lowlift._ledger import EVERYBODY, Entry, folded
from lowlift._wording import capital
from lowlift.tables.schema import OF_CELLS
from lowlift.web.cards import Ask, Choice, Way
from lowlift.web.frame import Place
from lowlift.web.settings import shortest
from lowlift.web.work import Wishes
from lowlift.workflow.consulting import Consulted

#: Mechanisms that publish coarser values, all of them true.
MERGING = frozenset({"subset-merging", "optimal-merging", "watchdog"})


def of_ledger(
    found: Consulted,
    wishes: Wishes,
    place: Place,
    *,
    is_rows: bool,
    written: Mapping[str, str] = MappingProxyType({}),
) -> list[Ask]:
    """Return what the ledger says of the recipient; also that it says nothing, or is off.

    `written` are the addresses of publications that are still here, by the digest of the table.
    """
    if not found.earlier:
        return [_nothing(found, wishes)]
    title = f"{capital(_holder(wishes))} already has {_tables(len(found.earlier))} of these people"
    entries = [each.entry for each in found.earlier]
    is_public = any(each.holder == EVERYBODY for each in entries)
    shared = ""
    if is_public and wishes.to != EVERYBODY:
        shared = f"What was published to everybody, {wishes.to} has too. "
    ask = Ask("ledger", title, earlier=found.earlier, together=(found.most, found.least))
    if found.holds:
        text = "Together they keep your limit: this is audited on the rows themselves."
        if found.least == "0":
            text = (
                "Together they keep your limit, which bounds only how much more likely a value "
                "becomes: they can still rule a value out."
            )
        return [ask._replace(text=shared + text, is_caution=found.least == "0")]
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
        return [ask._replace(text=shared + text, choices=choices, wants_release=wants)]
    who = "what was published before" if wishes.to == EVERYBODY else f"what {wishes.to} already has"
    ask = ask._replace(title=f"With {who}, this goes beyond your limit")
    text = _why_beyond(len(entries))
    keyed = [each for each in entries if each.draws == "keyed" and each.encoding not in OF_CELLS]
    if keyed:
        command_for = "Or refine the earlier table, with the key it was drawn by:"
        command = _refine(keyed[-1], place)
    else:
        its, them = ("table was", "it") if len(entries) == 1 else ("tables were", "them")
        command_for = f"If the earlier {its} never handed out, withdraw {them}:"
        command = "\n".join(f"lowlift ledger withdraw {each.id}" for each in entries)
    ways = (
        *_held(entries, written),
        *_others(wishes, place, is_public=is_public),
        *_looser(found, place),
    )
    ask = ask._replace(command_for=command_for, command=command)
    return [ask._replace(text=shared + text, ways=ways, is_final=True)]


def _nothing(found: Consulted, wishes: Wishes) -> Ask:
    """Return that nothing is known to be there: for want of a table, or of a ledger."""
    if not found.has_ledger:
        text = (
            "What they got before is not counted, and this one is not entered. Turn it on by: "
            "lowlift ledger on."
        )
        title = "The ledger is off: nobody knows what they have"
        return Ask("ledger", title, text, is_caution=True)
    whom = "" if wishes.to == EVERYBODY else f" for {wishes.to}"
    known = set(map(folded, found.recipients)) - {EVERYBODY}
    text = "New to the ledger." if known and folded(wishes.to) not in {EVERYBODY, *known} else ""
    title = f"The ledger has no earlier table of these people{whom}"
    return Ask("ledger", title, text, is_neutral=True)


def _held(entries: Sequence[Entry], written: Mapping[str, str]) -> tuple[Way, ...]:
    """Return the way to the newest table that they have, of those that are still here."""
    here = [written[key] for each in entries if (key := each.output_sha256 or "") in written]
    return tuple(Way("Hand out the table that they have", address) for address in here[-1:])


def _others(wishes: Wishes, place: Place, *, is_public: bool) -> tuple[Way, ...]:
    """Return what may keep the limit: true values only, and a reader who has nothing.

    There is no such reader where a table `is_public`.
    """
    merging = Way("Try merged values only", place.address("protection", mechanism="subset-merging"))
    someone = Way("Write it for someone else", f"{place.address('publish')}#to")
    is_merged = place.setting.mechanism in MERGING
    is_for_all = is_public or wishes.to == EVERYBODY
    return (*(() if is_merged else (merging,)), *(() if is_for_all else (someone,)))


def _looser(found: Consulted, place: Place) -> tuple[Way, ...]:
    """Return the way to a limit that what was found keeps; none does where a value is ruled out."""
    least, setting = float(found.least), place.setting
    if setting.criterion or not least:
        return ()
    factor = max(float(found.most), math.ceil(100 / least) / 100)
    words = f"Allow at least {shortest(factor)} times (Protection)"
    return (Way(words, place.address("protection", limit=factor)),)


def _why_beyond(n_earlier: int) -> str:
    """Return why tables that each keep a limit go beyond it together."""
    has, each = ("both", "either") if n_earlier == 1 else ("all of them", "each")
    return (
        "Each table was drawn by chance on its own. Whoever compares "
        f"{has} learns more than {each} allows."
    )


def _tables(number: int) -> str:
    return "a table" if number == 1 else f"{number} tables"


def _refine(entry: Entry, place: Place) -> str:
    from lowlift.workflow.repeating import bound_options, wrapped

    options = bound_options(place.setting.bound(), place.setting.sensitive)
    words = ["lowlift", "refine", entry.release_file or "release.json", entry.source, *options]
    words += ["--id", entry.id_column or "ID", "--key-file", "draws.key", "-o", "refined.csv"]
    return wrapped(words)


def _holder(wishes: Wishes) -> str:
    return "somebody" if wishes.to == EVERYBODY else wishes.to
