"""A release as a program for another runtime: texts that draw what `apply` draws, without lowlift.

A target is a module of this package with a function ``exported(encoded, *, options) -> Export``.
"""

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from lowlift._arguments import check_choice
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    from lowlift._exports.files import Export
    from lowlift._release import Release

__all__ = ["TARGETS", "export"]

#: The targets, each a module of this package.
TARGETS = ("sql", "javascript", "python")


def export(release: "Release", to: str, **options: Any) -> "Export":
    """Return a release as a program that another runtime runs, without lowlift.

    Parameters
    ----------
    release
        A release that was designed on a table, so that its columns are known.
    to
        "sql": one statement, or a dbt model and its test. "javascript": a module without
        dependencies that draws one record, in a browser or Node. "python": the same as a file that
        needs the standard library only.
    **options
        For "sql": `dialect`, `table`, `id`, `key_table`, `view`, `dbt`, `model`, `unseen`, `keep`,
        `accept_uncovered`, `accept_unchecked`; see the guide. The others take none. None is as if
        it were not given.

    Returns
    -------
    Export
        `text` is the program, `files` all its files by name; `write` writes them.

    Raises
    ------
    BoundViolated
        When the audit of the release is false.
    InvalidInput
        When the release or an option does not fit the target.

    Guarantee
        Given the same key, ids and rows, the program draws what `Release.apply` draws. It has no
        key in it. Whether the bound holds on the rows that it is run on is not its matter: `apply`
        checks that, and so does the test of a dbt model.

    Examples
    --------
    >>> import lowlift as ll
    >>> from lowlift.tables import Column, Origin
    >>> joint = ll.Joint.from_counts([[1, 2, 4], [2, 1, 4]], x_labels="abc")
    >>> channel = ll.Channel.from_blocks(joint, [[0, 1], [2]])
    >>> release = ll.Release.of(joint, channel, ll.MaxLift(0.0)).with_table(
    ...     Origin((Column("ill", "boolean"),), (Column("ward", "text"),), "value", "t", 14, None,
    ...            "groups")
    ... )
    >>> program = ll.export(release, "sql", dialect="duckdb", table="people")
    >>> list(program.files)
    ['release.sql']
    """
    from lowlift._exports.carrying import carried

    check_choice(to, "to", TARGETS)
    exported = importlib.import_module(f"lowlift._exports.{to}").exported
    given = {name: value for name, value in options.items() if value is not None}
    _refuse_other_options(given, to, set(inspect.signature(exported).parameters) - {"encoded"})
    found: Export = exported(carried(release, has_table=to == "sql"), **given)
    return found


def _refuse_other_options(given: dict[str, Any], to: str, taken: set[str]) -> None:
    other = sorted(given.keys() - taken)
    if other:
        raise InvalidInput(
            f"an export to {to} takes {', '.join(sorted(taken)) or 'no options'}; got "
            f"{', '.join(other)}. Leave that out."
        )
