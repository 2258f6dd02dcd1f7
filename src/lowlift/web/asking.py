"""What is asked before a table is drawn: each warning with its choices, the safe one made."""

import hashlib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import urlencode

from lowlift._exposure import FEW
from lowlift._ledger import EVERYBODY
from lowlift._wording import capital, counted, joined, percent
from lowlift.errors import InvalidInput
from lowlift.report.headings import claim_of
from lowlift.report.limits import if_sample, is_too_small
from lowlift.report.promises import promise as promised
from lowlift.report.promises import unmarked
from lowlift.tables.schema import OF_CELLS
from lowlift.web.cards import Ask, Choice, Way
from lowlift.web.frame import Place
from lowlift.web.holders import MERGING, of_ledger
from lowlift.web.preparing import Prepared
from lowlift.web.work import Wishes
from lowlift.workflow import Design
from lowlift.workflow.consulting import Consulted

#: What a user may do with the codebook.
CODEBOOKS = ("rounded", "withheld", "exact")
#: Columns that a sentence names.
_MOST_NAMED = 8
#: How a warning begins that a column identifies people.
_IDENTIFIES = re.compile(r"'(.+)' is nearly unique")


def asks_of(
    made: Design,
    found: Prepared,
    wishes: Wishes,
    place: Place,
    drawn: Sequence[str | None],
    written: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Ask, ...]:
    """Return what is to be settled before this design is drawn.

    `drawn` are the digests of what was drawn here from the same table, None where it is not there.
    `written` are the addresses of the publications that are still here, by digest.
    """
    is_rows = made.encoded.name in OF_CELLS
    asks = of_ledger(found.consulted, wishes, place, is_rows=is_rows, written=written)
    asks += _of_table(drawn, found.consulted)
    asks += _of_kept(found, wishes, place)
    asks += [_caution(number, text, place, wishes) for number, text in enumerate(made.warnings)]
    if found.rare:
        what = "value" if len(made.spec.schema.released) == 1 else "combination"
        asks.append(codebook_ask(found.rare, counted(made.release.joint.n_x, what), found.step))
    if found.formulas and wishes.form == "csv":
        asks.append(_formulas(found.formulas))
    if is_too_small(made.intervals, made.audit):
        asks.append(_sample(made, place, is_rows=is_rows))
    if found.proves:
        asks.append(_proves(found.proves, place))
    if found.tells:
        asks.append(_tells(made, found.tells, place, wishes))
    is_ruling_out = bool((made.audit.lift == 0).any())
    if is_ruling_out:
        asks.append(_ruled_out(made, is_rows=is_rows))
    is_telling = is_ruling_out or bool(found.proves)
    asks.append(_drawn_anew(made, found, place, is_telling=is_telling))
    final = tuple(ask for ask in asks if ask.is_final)
    return final or tuple(asks)  # where nothing is written, nothing else is to be known


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


def digest_of(made: Design, version: Hashable, asks: Sequence[Ask]) -> str:
    """Return what tells this release of this version of a table, with what is said of it.

    A form sends it back: another release, or cards that nobody has seen, are not drawn. Links are
    no part of it, as they keep what else is on their page.
    """
    said = [ask._replace(ways=(), instead=None) for ask in asks]
    parts = made.release.fingerprint, made.encoded.name, version, said
    return hashlib.sha256(repr(parts).encode()).hexdigest()


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


def _of_kept(found: Prepared, wishes: Wishes, place: Place) -> list[Ask]:
    """Return what is asked of columns that are added unchanged."""
    if found.uncovered:
        columns = joined(wishes.keep)
        title = f"Cannot be added unchanged: {columns}"
        released = dict.fromkeys((*place.setting.released, *wishes.keep))
        within = place.address("protection", released=tuple(released))
        ways = (
            Way("Add nothing", wished(place, replace(wishes, keep=()))),
            Way(f"Publish {columns} within the limit", within),
        )
        return [Ask("kept", title, found.uncovered, ways=ways, is_final=True)]
    asks = []
    for name in found.naming:
        rest = tuple(each for each in wishes.keep if each != name)
        instead = Way(f"Leave {name} out", wished(place, replace(wishes, keep=rest)))
        title = f"{name!r} can identify people, and would be published unchanged"
        choices = (Choice("yes", "Publish it all the same"),)
        asks.append(Ask(f"kept:{name}", title, choices=choices, instead=instead))
    return asks


def promise(made: Design, found: Consulted, wishes: Wishes) -> str:
    """Return in words who gets which columns, what they have, and what is promised of them."""
    names = (*made.spec.schema.released, *wishes.keep)
    columns = joined(names) if len(names) <= _MOST_NAMED else f"{len(names)} columns"
    gets = f"{capital(wishes.to)} gets {columns} of {counted(made.spec.rows, 'person', 'people')}."
    has = "They have nothing of these people yet."
    if found.earlier:
        n = len(found.earlier)
        has = f"They already have {'a table' if n == 1 else f'{n} tables'} of these people."
    elif not found.has_ledger:
        has = "Nobody knows what they have."
    claim, sensitive = claim_of(made.release.criterion), made.spec.schema.sensitive
    whole = f"{capital(unmarked(promised(made.release.criterion, sensitive)))}."
    if claim.startswith("no value "):
        whole = f"No value of {joined(sensitive, 'or')} {claim.removeprefix('no value ')}."
    return f"{gets} {has} {whole}"


def wish_pairs(wishes: Wishes) -> list[tuple[str, str]]:
    """Return what is wished for as names and values of an address."""
    pairs = [("to", wishes.to)] if wishes.to != EVERYBODY else []
    pairs += [("form", wishes.form)] if wishes.form != "csv" else []
    return [*pairs, *(("keep", name) for name in wishes.keep)]


def wished(place: Place, wishes: Wishes) -> str:
    """Return the address that shows the same again."""
    return "&".join(filter(None, (place.address("publish"), urlencode(wish_pairs(wishes)))))


def _without(names: Sequence[str], place: Place, wishes: Wishes) -> Way | None:
    """Return the way to the same publication without columns; none where no other is left."""
    left = tuple(each for each in place.setting.released if each not in names)
    if not left or left == place.setting.released:
        return None
    pairs = urlencode(wish_pairs(wishes))
    address = "&".join(filter(None, (place.address("publish", released=left), pairs)))
    return Way(f"Leave {joined(names)} out", address)


def _caution(number: int, text: str, place: Place, wishes: Wishes) -> Ask:
    title, _, rest = text.partition(". ")
    ways = (Way("Change the columns", place.address("columns")),)
    choices = (Choice("yes", "Publish it all the same"),)
    if text.startswith("not published:"):  # what was left out is safe
        return Ask(f"caution:{number}", capital(title), rest)
    named = _IDENTIFIES.match(text)
    instead = None if named is None else _without([named[1]], place, wishes)
    rest = rest if instead is None else ""  # which says the same
    return Ask(f"caution:{number}", capital(title), rest, choices, ways, instead=instead)


def codebook_ask(rare: int, values: str, step: float | None) -> Ask:
    """Return what is asked of a codebook that would expose counts, unless rounded to a step.

    `rare` of the `values`, such as 14 combinations, have few rows.
    """
    text = (
        f"{rare} of {values} {'occurs' if rare == 1 else 'occur'} in fewer than {FEW} rows. Exact "
        "shares in the codebook would tell in how many."
    )
    kept = Choice("withheld", "Keep the codebook back", "It is among the files to keep.")
    exact = Choice("exact", "Hand out the exact codebook")
    title = "Exact numbers in the codebook would give small counts away"
    if step is None:
        text += " Rounding does not hide them."
        return Ask("codebook", title, text, (kept._replace(is_safe=True), exact))
    words = "whole percents" if step == 0.01 else f"steps of {100 * step:g}%"
    rounded = Choice(
        "rounded",
        f"Round the codebook to {words}",
        f"The table stays the same. Shares estimated from it are known to {words} only.",
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


def _sample(made: Design, place: Place, *, is_rows: bool) -> Ask:
    numbers = if_sample(made.intervals, made.audit, is_rows=is_rows)
    text = f"These rows are taken to be everybody. {numbers}"
    words = "They are a sample: work it out for those people"
    ways = (Way(words, place.address("protection", audience="population")),)
    return Ask("sample", "The promise is about these rows", text, ways=ways, is_caution=True)


def _proves(text: str, place: Place) -> Ask:
    choices = (Choice("yes", "Publish it all the same"),)
    ways = (Way("Change the limit or the criterion", place.address("protection")),)
    return Ask("proves", "A published row can prove a value", text, choices, ways)


def _tells(made: Design, names: Sequence[str], place: Place, wishes: Wishes) -> Ask:
    what = joined(made.spec.schema.sensitive)
    is_one = len(names) == 1
    text = (
        f"In your table, {joined(names)} {'tells' if is_one else 'tell'} {what}, wholly or in "
        f"part. Whoever recognises the person whose row it is reads {what} from "
        f"{'that column' if is_one else 'them'}. The limit is on what a row tells of the person "
        "in whose place it stands."
    )
    ways = (Way("Change the columns", place.address("columns")),)
    choices = (Choice("yes", f"Publish {'it' if is_one else 'them'} all the same"),)
    which = "A published column tells" if is_one else "Published columns tell"
    instead = _without(names, place, wishes)
    return Ask("tells", f"{which} what is protected", text, choices, ways, instead=instead)


def _ruled_out(made: Design, *, is_rows: bool) -> Ask:
    never = int((made.audit.joint.masses == 0).sum())
    left = int((made.audit.lift == 0).sum())
    what = "kind of rows" if is_rows else "published value"
    text = (
        f"{counted(never, 'pair')} of a protected value and a {what} never "
        f"{'occurs' if never == 1 else 'occur'} together in your table. "
        f"{counted(left, 'such pair')} {'remains' if left == 1 else 'remain'} in what is "
        "published: such a row rules the protected value out."
    )
    return Ask("ruled-out", "A published row can rule a value out", text, is_caution=True)


def _recognised(found: Prepared) -> Ask:
    """Return that people can be recognised by published rows, with how many where any is alone."""
    people = counted(found.rows, "person", "people")
    text = (
        "Each published row is a real row of your table, drawn by chance among similar ones. "
        "Someone may still recognise whose row it is"
    )
    if found.unique:
        number = "all" if found.unique == found.rows else f"{found.unique:,} of"
        has = "has" if found.unique == 1 else "have"
        text += f": {number} {people} {has} a row that nobody else has"
    text += ". The public report says that it is possible, without a number."
    is_alone = found.unique > 0
    return Ask("drawn", "Rows are drawn anew", text, is_caution=is_alone, is_neutral=not is_alone)


def _drawn_anew(made: Design, found: Prepared, place: Place, *, is_telling: bool) -> Ask:
    """Return how values are changed; not in green where something `is_telling` all the same."""
    if made.encoded.name in OF_CELLS:
        return _recognised(found)
    if not made.encoded.share_changed:
        text = "Every row is published as it is: the columns tell no more than this limit allows."
        return Ask("drawn", "No value is changed", text, is_neutral=is_telling)
    share = percent(made.encoded.share_changed)
    if made.encoded.name == "groups":
        text = f"{share} of the rows are published as a group of values, of which one is theirs."
        return Ask("drawn", "Some values are merged", text)
    text = (
        f"{share} of the rows are published merged, mixed or replaced, and no row says which. The "
        "public report says so."
    )
    if found.is_fitted:
        text += (
            " Values are drawn by weights that were fitted to the protected ones: whoever studies "
            "the codebook can estimate how protected and published values go together. The limit "
            "is against a reader who knows that already; if it must stay confidential, use "
            "merging only."
        )
    merging = place.address("protection", mechanism="subset-merging")
    ways = (Way("Use merging only, if every published value must be true", merging),)
    is_merged = made.chosen.name in MERGING
    return Ask(
        "drawn",
        "Some values are drawn anew",
        text,
        ways=() if is_merged else ways,
        is_caution=found.is_fitted,
    )
