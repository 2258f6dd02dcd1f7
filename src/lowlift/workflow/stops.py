"""What each of several limits keeps: points of a trade-off, one at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from lowlift._cells.kept import ValuesKept
from lowlift._deadline import Deadline
from lowlift._guarantees import stopped_note
from lowlift.criteria import Criterion, Population, criterion_on
from lowlift.encodings import Encoded
from lowlift.errors import BoundViolated, Infeasible
from lowlift.report.beliefs import beliefs_of
from lowlift.report.outcome import (
    CANNOT,
    EMPTY,
    USEFUL,
    is_averaged,
    proven_most,
    shown_as,
    state_of,
)
from lowlift.tables import Schema, open_table
from lowlift.workflow.cells import Stage, learn_ground, unheard
from lowlift.workflow.columns import per_column
from lowlift.workflow.designing import Design, design_counted

#: Seconds that a search may take for one limit: symbols come nearer to the best step by step; rows
#: are found within a second or two, and nothing of use before.
SECONDS, ROWS_SECONDS = 4.0, 10.0

#: Makes a release for a criterion, and says whether the bound holds for each sensitive column too,
#: and of rows how many values it keeps.
_Released: TypeAlias = Callable[[Criterion], tuple[Encoded, bool, ValuesKept | None]]


class Stop(NamedTuple):
    """What a limit keeps.

    Attributes
    ----------
    limit
        The number that the criterion was made from.
    state
        `USEFUL`, `EMPTY` or `CANNOT` of `lowlift.report.outcome`.
    share
        What is kept; 0 where nothing can be promised.
    most
        What no release keeps more of; None where that is not proven.
    is_late
        Whether the time was over before anything of use was found: the limit may keep much more.
    shown
        The state as it is shown, where that is another: `PROVES` or `AVERAGE`; else empty.
    """

    limit: float
    state: str
    share: float = 0.0
    most: float | None = None
    is_late: bool = False
    shown: str = ""


def stops(
    source: Any,
    asked: Schema,
    made: Design,
    bounds: Sequence[tuple[float, Criterion]],
    *,
    mechanism: str = "auto",
    seconds: float | None = None,
    engine: str | None = None,
    tell: Callable[[Stop], object] = lambda _: None,
    stage: Stage = unheard,
) -> list[Stop]:
    """Return what each of some limits keeps of a table; `tell` hears of each as it is found.

    `stage` hears when cells are learnt, which comes first for rows.

    Parameters
    ----------
    source, asked, mechanism, engine
        As for `design`.
    made
        A design of this table by one of the limits: rows or symbols, as it has them.
    bounds
        Limits and the criteria made from them, all for the table or all for the population.
    seconds
        For the search at one limit: the chart takes the best found by then.

    Cost
        Symbols: the table is not read. Rows: cells are learnt once, for all limits.
    """
    if made.spec.cells is None:
        release = _by_symbols(made, mechanism, SECONDS if seconds is None else seconds)
    else:
        stage("learning")
        seconds = ROWS_SECONDS if seconds is None else seconds
        release = _by_rows(source, asked, made, seconds, engine)
    found = []
    for limit, criterion in bounds:
        found.append(_stop(limit, criterion, release))
        tell(found[-1])
    return found


def _by_symbols(made: Design, mechanism: str, seconds: float) -> _Released:
    joint, name = made.release.joint, made.encoded.name

    def release(bound: Criterion) -> tuple[Encoded, bool, None]:
        how: Any = {"mechanism": mechanism, "time_limit": seconds, "is_monotone": True}
        if name == "values":
            how["encoding"] = name
        found = design_counted(joint, replace(joint.origin, encoding=""), bound, **how)
        return found.encoded, found.is_satisfied, None

    return release


def _by_rows(
    source: Any, asked: Schema, made: Design, seconds: float, engine: str | None
) -> _Released:
    is_sample = isinstance(made.release.criterion, Population)
    found = made.spec.schema
    schema = replace(found, cells=asked.cells or "auto", weights=asked.weights)
    schema = replace(schema, min_rows=asked.min_rows)
    with open_table(source, engine) as table:
        ground = learn_ground(table, schema, Deadline(None), is_sample=is_sample)

    def release(bound: Criterion) -> tuple[Encoded, bool, ValuesKept]:
        deadline = Deadline(seconds)
        found = ground.released(criterion_on(bound, ground.joint), seconds)
        parts = per_column(found.joint, found.channel, found.criterion, made.spec.sensitive)
        every = (found.audit, *dict(parts).values())
        is_satisfied = all(part.is_satisfied for part in every)
        kept = ground.foreseen(found, asked.min_rows, deadline)
        return Encoded(made.encoded.name, found), is_satisfied, kept

    return release


def _stop(limit: float, criterion: Criterion, release: _Released) -> Stop:
    try:
        encoded, is_satisfied, kept = release(criterion)
    except (BoundViolated, Infeasible):
        return Stop(limit, CANNOT)
    state, share = state_of(encoded, is_satisfied=is_satisfied, kept=kept)
    is_late = state == EMPTY and stopped_note(encoded.release.certificate) is not None
    audit = encoded.release.audit
    beliefs = beliefs_of(audit) if state == USEFUL else ()
    shown = shown_as(state, beliefs, is_average=is_averaged(audit.criterion))
    shown = "" if shown == state else shown
    return Stop(limit, state, share, proven_most(encoded), is_late, shown)
