"""The pytest plugin: a fixture that fails a test when a table breaks its bound.

It stands beside the package so that pytest loads nothing of lowlift before a test asks for it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lowlift.criteria import Criterion
    from lowlift.workflow import TableAudit

__all__ = ["lowlift_audit"]


@pytest.fixture(scope="session")
def lowlift_audit() -> "Callable[..., TableAudit]":
    """Return a function that audits a table, and fails the test when its bound does not hold.

    It takes the table, and by name: `sensitive`, `released`, `at_most` (a factor, or texts such as
    "income=>50K:0.5") or `criterion`, and `bins`, `missing`, `schema` and `engine` as
    `lowlift.audit_table` does. It returns the audit.
    """
    return _audit


def _audit(
    table: Any,
    *,
    at_most: float | str | Sequence[float | str] | None = None,
    criterion: "Criterion | None" = None,
    **columns: Any,
) -> "TableAudit":
    __tracebackhide__ = True
    from lowlift import audit_table

    bound = criterion if at_most is None else _at_most(at_most, criterion, columns)
    if bound is None:
        raise TypeError("lowlift_audit needs a bound: at_most=2, or criterion=LIP(0.5).")
    found = audit_table(table, criterion=bound, **columns)
    if not found.is_satisfied:
        pytest.fail(_words(found), pytrace=False)
    return found


def _at_most(at_most: Any, criterion: Any, columns: dict[str, Any]) -> "Criterion":
    from lowlift.workflow.budgets import at_most_of

    if criterion is not None:
        raise TypeError("lowlift_audit takes one bound: at_most, or criterion.")
    schema = columns.get("schema")
    names = columns.get("sensitive", ()) if schema is None else schema.sensitive
    texts = at_most if isinstance(at_most, list | tuple) else [at_most]
    return at_most_of([str(text) for text in texts], [names] if isinstance(names, str) else names)


def _words(found: "TableAudit") -> str:
    """Return why a table breaks its bound, without its values: what CI prints is public."""
    from lowlift._cli.json_data import verdict

    spec, audit = found.spec, found.audit
    names = ", ".join(column.name for column in spec.released)
    lines = [f"{spec.source}: {spec.rows:,} rows; publishing as they are: {names}", verdict(audit)]
    lines += [f"{name} alone: {verdict(part)}" for name, part in found.columns]
    lines.append(
        f"Values that break the bound: {len(audit.violations):,} of {audit.channel.n_y:,}."
    )
    return "\n".join(lines)
