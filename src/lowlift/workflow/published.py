"""What the ledger has of a table, each publication with as much of its settings as is known."""

import ast
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from lowlift import criteria
from lowlift._ledger import Entry, Ledger, Who, is_same
from lowlift.criteria import BuiltIn, Criterion
from lowlift.errors import InvalidInput
from lowlift.report.outcome import Outcome, outcome_of
from lowlift.tables import open_table
from lowlift.tables.bins import bins_text
from lowlift.workflow.recording import Unaudited, budgets_text, release_of


class Recorded(NamedTuple):
    """A publication of a table that the ledger has.

    Attributes
    ----------
    entry
        What the ledger has of it.
    criterion
        What it promises; None where neither the ledger's text nor its release tells.
    is_there
        Whether its release can be read. What follows is known only then.
    bins
        Bins as texts, by column.
    missing, mechanism
        As in the release.
    is_from_data
        Whether some bins were taken from the data: their texts are of that table.
    said
        What a page says of the release first.
    """

    entry: Entry
    criterion: Criterion | None
    is_there: bool = False
    bins: tuple[tuple[str, str], ...] = ()
    missing: str = ""
    mechanism: str = ""
    is_from_data: bool = False
    said: Outcome | None = None


def published_of(
    source: Any, ledger: str | os.PathLike[str], *, engine: str | None = None
) -> tuple[Recorded, ...]:
    """Return what the ledger has of the people of a table, the newest first.

    Publications that failed or were withdrawn are left out. A ledger that is not there has none.
    """
    if not Path(ledger).exists():
        return ()
    with open_table(source, engine) as table:
        who = Who(table.description, table.sha256(), None, None)
    with Ledger(ledger, must_exist=True) as opened:
        every = opened.entries()
    found = [entry for entry in every if entry.is_held and is_same(entry, who)]
    return tuple(_recorded(entry) for entry in reversed(found))


def _recorded(entry: Entry) -> Recorded:
    try:
        encoded = release_of(entry, ())
    except Unaudited:
        return Recorded(entry, criterion_in(entry.criterion))
    release, origin = encoded.release, encoded.origin
    columns = origin.sensitive if origin.cells is not None else origin.columns
    return Recorded(
        entry,
        release.criterion,
        is_there=True,
        bins=tuple((each.name, bins_text(each.bins)) for each in columns if each.bins is not None),
        missing=origin.missing,
        mechanism=release.mechanism.replace("_", "-"),  # as commands name it
        is_from_data=bool(origin.from_data),
        said=outcome_of(
            encoded,
            release.audit,
            is_satisfied=release.audit.is_satisfied,
            sensitive=entry.sensitive,
        ),
    )


def criterion_in(text: str) -> Criterion | None:
    """Return the criterion that a ledger's text says; None where it does not say all of it.

    Examples
    --------
    >>> criterion_in("Population(criterion=LIP(epsilon=0.5), confidence=0.95)")
    Population(criterion=LIP(epsilon=0.5), confidence=0.95)
    >>> criterion_in("AtMost(factor=2.0, share=1.0)") is None  # beliefs are not in the ledger
    True
    """
    try:
        found = _made(ast.parse(text, mode="eval").body)
    except (InvalidInput, SyntaxError, TypeError, ValueError, RecursionError):
        return None
    # What is read must be all that was written.
    return found if isinstance(found, BuiltIn) and budgets_text(found) == text else None


def _made(node: ast.expr) -> Any:
    """Return the number or the criterion of a node; nothing else is made."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and node.id == "inf":
        return math.inf
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        kind = getattr(criteria, node.func.id, None) if node.func.id in criteria.__all__ else None
        if isinstance(kind, type) and issubclass(kind, BuiltIn):
            return kind(**{str(each.arg): _made(each.value) for each in node.keywords})
    raise ValueError("no criterion")
