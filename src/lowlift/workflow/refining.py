"""Refine what was published: a second, finer table drawn given the first."""

from collections.abc import Callable
from typing import Any

from lowlift._ledger import Ledger
from lowlift._mechanisms.refining import refine
from lowlift._release import Release
from lowlift.criteria import Criterion
from lowlift.encodings import published
from lowlift.errors import InvalidInput
from lowlift.tables import open_table, read_back
from lowlift.tables.schema import NO_TABLE
from lowlift.workflow.applying import Options
from lowlift.workflow.cautions import cautions
from lowlift.workflow.choices import Chosen
from lowlift.workflow.columns import per_column
from lowlift.workflow.designing import Design
from lowlift.workflow.sanitizing import Sanitized, files_beside, publish_table, refuse_existing


def design_refinement(
    release: Release, criterion: Criterion, *, time_limit: float = 60.0
) -> Design:
    """Return the design of a refinement of a release that was designed on a table."""
    if release.origin is None or not release.origin.encoding:
        raise InvalidInput(NO_TABLE, advice="design")
    made = published(refine(release, criterion, time_limit=time_limit).release)
    joint, origin, channel = made.release.joint, made.origin, made.channel
    return Design(
        made.release.audit,
        per_column(joint, channel, made.release.criterion, origin.sensitive),
        cautions(joint, origin.sensitive, origin.released),
        chosen=Chosen("refine", "drawn given the first release"),
        encoded=made,
    )


def refine_table(
    source: Any,
    release: Release,
    criterion: Criterion,
    target: str,
    options: Options,
    *,
    first: Any = None,
    round_to: float | None = None,
    time_limit: float = 60.0,
    engine: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Sanitized:
    """Publish a table again, finer, such that both tables satisfy a total criterion.

    Parameters
    ----------
    source
        The table that was published.
    release
        By which it was published.
    criterion
        The total, against P(s) before the first release.
    target
        Where to write; release, codebook and receipt are written beside it.
    options
        With the id column and the key that the first table was drawn by, unless the first release
        draws nothing (it merges values).
    first
        The table that was published first. Its outputs are counted and compared with those that the
        key draws now: a table that was drawn by another key, or freshly, is refused. It may be left
        out where the ledger knows of that publication, or where the first release draws nothing.

    Raises
    ------
    BoundViolated
        When the first release alone breaks the total, or the pair does not hold on this table.
    InvalidInput
        When the first table is not the one that this key draws; see also `lowlift.refine`.

    Guarantee
        Table, release, codebook and receipt are all there and verified, or none is. Every pair of
        outputs satisfies the total by the exact audit, for who holds both tables and can tell which
        rows belong together.
    """
    made = design_refinement(release, criterion, time_limit=time_limit)
    refines = made.release.refines
    counted = None if first is None else _counts(first, release, engine)
    if first is None and not made.release.is_function_first:
        _refuse_unknown(made.release, options)

    def check(drawn: tuple[int, ...]) -> None:
        if counted is None or refines is None:
            return
        sums = [0] * len(refines.outputs)
        for parent, number in zip(refines.parents, drawn, strict=True):
            sums[parent] += number
        if sums != counted:
            raise InvalidInput(
                "the first table must be the one that this key, these ids and this release draw; "
                f"{sum(a != b for a, b in zip(sums, counted, strict=True))} of {len(sums)} outputs "
                "have other numbers of rows. Give the key and the rows that it was drawn from."
            )

    refuse_existing(*files_beside(target).values(), force=options.force, source=source)
    with open_table(source, engine) as table:
        return publish_table(
            table, made, target, options, round_to=round_to, progress=progress, check=check
        )


def _refuse_unknown(made: Release, options: Options) -> None:
    """Refuse a first table that neither its rows nor a ledger tell the draws of."""
    before = made.refines and made.refines.first
    known = options.recording and Ledger(options.recording.ledger)
    if known:
        with known as ledger:
            if any(entry.is_held and entry.release == before for entry in ledger.entries()):
                return
    raise InvalidInput(
        "how the first table was drawn must be known; no ledger has it, and the table was not "
        "given. Nothing was written.",
        advice="first",
    )


def _counts(first: Any, release: Release, engine: str | None) -> list[int]:
    """Count the outputs in the table that was published first."""
    encoded = published(release)
    with open_table(first, engine, is_text=True) as table:
        for name in encoded.names:
            table.check_name(name)
        found = read_back(table, encoded.columns)
    if found.unknown:
        raise InvalidInput(
            f"the first table must hold outputs of the release; {found.unknown:,} of "
            f"{found.rows:,} rows hold others."
        )
    return list(found.counts)
