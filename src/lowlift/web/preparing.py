"""What is to be known before a table is drawn: what the ledger says, and what would be written."""

from dataclasses import dataclass
from typing import Any

from lowlift import workflow
from lowlift._exposure import STEPS, rare_in
from lowlift._wording import capital
from lowlift.codebook import is_by_blocks
from lowlift.report.beliefs import beliefs_of
from lowlift.report.outcome import USEFUL, named
from lowlift.tables import Table, open_table
from lowlift.tables.schema import OF_CELLS
from lowlift.web.jobs import Tell
from lowlift.web.work import Wishes, said
from lowlift.workflow import Design
from lowlift.workflow.applying import KEPT_WITH_ROWS, formulas_in
from lowlift.workflow.bounds import audit_with_kept, why_not_covered
from lowlift.workflow.consulting import Consulted, consult
from lowlift.workflow.profiling import flagged
from lowlift.workflow.reporting import columns_that_tell

#: How a warning begins that tells of counts in a rounded codebook.
_EXPOSED = "intervals"
#: Flags of columns that identify people.
_NAMING = frozenset({"identifier", "free-text"})


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is to be known before a table is drawn."""

    consulted: Consulted
    #: How many values so few rows have that exact probabilities in the codebook expose them.
    rare: int
    #: Texts that a spreadsheet would run.
    formulas: tuple[str, ...]
    #: The finest step to which the codebook can be rounded so that it exposes nothing; None where
    #: none is coarse enough.
    step: float | None = None
    #: Whether values are drawn by weights that were fitted to the sensitive ones.
    is_fitted: bool = False
    #: What a published row can prove, in a sentence; empty where nothing.
    proves: str = ""
    #: Of rows that are published as rows: how many rows the table has, and how many of them no
    #: other row equals; and the published columns that tell what is protected.
    rows: int = 0
    unique: int = 0
    tells: tuple[str, ...] = ()
    #: Of columns that are added unchanged: why they cannot be, in a sentence, empty where they can;
    #: and those that identify people.
    uncovered: str = ""
    naming: tuple[str, ...] = ()


def prepare_publication(
    source: Any, engine: str | None, made: Design, target: str, wishes: Wishes, tell: Tell
) -> Prepared:
    """Ask the ledger and look at what would be written; nothing is."""
    del tell
    rare, step, is_fitted, recognised = 0, None, False, (0, 0)
    schema, is_rows = made.spec.schema, made.encoded.name in OF_CELLS
    tells: tuple[str, ...] = ()
    if not is_rows:
        rare = len(rare_in(made.release.joint))
        step = next((each for each in STEPS if rare and not _is_exposed(made, each)), None)
        is_fitted = not is_by_blocks(made.encoded.channel)
    with open_table(source, engine) as table:
        formulas = formulas_in(table, made.encoded, target)
        if is_rows:  # of a file, a copy is counted much faster
            table.hold(schema.released)
            recognised = table.rows, table.profiling().unique_rows(schema.released)
    if is_rows:
        tells = columns_that_tell(source, engine, schema)
    with open_table(source, engine) as table:
        uncovered = _uncovered(table, made, wishes, is_rows=is_rows)
        proves = "" if uncovered else _proves(table, made, wishes)
        flags = flagged(table, schema.sensitive, wishes.keep) if wishes.keep else ()
    naming = tuple(each.name for each in flags if not _NAMING.isdisjoint(each.flags))
    with open_table(source, engine) as table:
        consulted = consult(table, made.encoded, wishes.options())
    facts: Any = {"uncovered": uncovered, "naming": naming}
    return Prepared(consulted, rare, formulas, step, is_fitted, proves, *recognised, tells, **facts)


def _uncovered(table: Table, made: Design, wishes: Wishes, *, is_rows: bool) -> str:
    """Return why columns cannot be added unchanged, in a sentence; empty where they can."""
    if not wishes.keep:
        return ""
    if is_rows:
        return capital(KEPT_WITH_ROWS)
    why = why_not_covered(table, made.encoded, wishes.keep)
    if why and audit_with_kept(table, made.encoded, wishes.keep) is None:
        return f"Whether all of it together keeps the limit cannot be told: {why.rstrip('.')}."
    return "All of it together does not keep the limit." if why else ""


def _proves(table: Table, made: Design, wishes: Wishes) -> str:
    """Return what a published row can prove, with the columns that are added unchanged.

    However little is kept of the rows: one of them is enough.
    """
    found = said(made)
    both = audit_with_kept(table, made.encoded, wishes.keep) if wishes.keep else None
    if both is not None:
        beliefs = (named(each, made.spec.schema.sensitive) for each in beliefs_of(both))
        found = found._replace(beliefs=tuple(beliefs))
    return found._replace(state=USEFUL).proves


def _is_exposed(made: Design, step: float) -> bool:
    """Return whether the codebook exposes counts although it is rounded to a step."""
    texts = workflow.codebook_of(made, step).warnings
    return any(text.startswith(_EXPOSED) for text in texts)
