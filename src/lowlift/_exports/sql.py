"""A release as one SQL statement: a SELECT, a view, or a dbt model and its test."""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from lowlift._arguments import check_choice
from lowlift._exports.carrying import is_function
from lowlift._exports.dbt import Template, project_files
from lowlift._exports.dialects import DIALECTS, StatementDialect
from lowlift._exports.files import Export
from lowlift._exports.row_statements import RowStatement
from lowlift._exports.statements import Statement
from lowlift._version import __version__
from lowlift.encodings import Encoded
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables.dialects import Expression, table_named
from lowlift.tables.draws import UNSEEN
from lowlift.tables.outputs import Output
from lowlift.tables.queries import named
from lowlift.tables.schema import column_names
from lowlift.tables.sources import split_name
from lowlift.workflow.applying import KEPT_WITH_ROWS
from lowlift.workflow.bounds import refuse_kept

#: What the table that is read is called inside the statement, and how its parts' names begin.
_ALIAS, _OURS = "lowlift_table", "lowlift_"


def exported(
    encoded: Encoded,
    *,
    dialect: str = "duckdb",
    table: str = "",
    id: str | None = None,  # noqa: A002 (as in the options of every way to publish)
    key_table: str | None = None,
    view: str | None = None,
    dbt: bool = False,
    model: str | None = None,
    unseen: str = "error",
    keep: Sequence[str] = (),
    accept_uncovered: bool = False,
    accept_unchecked: bool = False,
) -> Export:
    """Return the statement.

    Parameters
    ----------
    dialect
        "duckdb", "postgres", "spark", "bigquery", "snowflake", "redshift" or "trino".
    table
        The table that is read, NAME or SCHEMA.NAME; for dbt a model, or SOURCE.TABLE.
    id
        The column of ids that is hashed; a release that draws nothing needs none.
    key_table
        A table of one row whose column ``subkey`` has the subkey, instead of a setting.
    view
        Make a view of this name.
    dbt, model
        Make a dbt model of this name ("safe"), and its test.
    unseen
        What to do with values that the design did not have: "error" or "suppress".
    keep, accept_uncovered
        Columns to keep as they are, none of S or X. No export can tell whether the bound holds with
        them.
    accept_unchecked
        Make a test although SQL cannot check the criterion: it then checks rows and outputs only.
    """
    check_choice(dialect, "dialect", tuple(DIALECTS))
    check_choice(unseen, "unseen", UNSEEN)
    kept = tuple(column_names(keep, "keep"))
    _refuse(encoded, table, id, kept, accept_uncovered=accept_uncovered)
    _refuse_cut((*kept, id or "", *encoded.origin.schema.names, *encoded.names), DIALECTS[dialect])
    _refuse_forms(view, model, dbt=dbt, accept_unchecked=accept_unchecked)
    if view is not None and id is not None and key_table is None:
        _refuse_view(DIALECTS[dialect])
    if not dbt:  # whose tables have a schema
        _refuse_ours(table, key_table)
    written, head = DIALECTS[dialect], _head(encoded, dialect)
    kind = Statement if encoded.origin.cells is None else RowStatement
    if dbt:
        template, name = Template(), model or "safe"
        key = template.subkey(name)
        if key_table is not None:
            key = _subkey_in(template.table(*split_name(key_table)))
        source = _aliased(template.table(*split_name(table)))
        drawn = kind(encoded, written, source, id, key, unseen, kept)
        made = project_files(drawn, template, name, head, accept_unchecked=accept_unchecked)
    else:
        key = written.subkey() if key_table is None else _subkey_in(_table(key_table))
        statement = kind(encoded, written, _aliased(_table(table)), id, key, unseen, kept)
        text = statement.write(statement.select())
        if view is not None:
            text = f"CREATE VIEW {written.sql(_table(view))} AS\n{text}"
        made = Export({"release.sql": f"{head}{text};\n"})
    for content in made.files.values():
        _refuse_long(content, written, encoded)
    return made


def _refuse(
    encoded: Encoded,
    table: str,
    identity: str | None,
    kept: Sequence[str],
    *,
    accept_uncovered: bool,
) -> None:
    if not table:
        raise InvalidInput("an export to sql must name the table that is read; got none.")
    if identity is None and not is_function(encoded):
        raise InvalidInput(
            "an export must draw by a key and a column of ids, because this release draws; got no "
            "id column. Name one."
        )
    if kept and encoded.origin.cells is not None:
        raise InvalidInput(KEPT_WITH_ROWS)
    refuse_kept(encoded, kept)
    names = (*kept, identity or "", *encoded.origin.schema.names, *encoded.names)
    if any(name.casefold() == _ALIAS for name in names):
        raise InvalidInput(
            f"a column must not be named {_ALIAS}, which is the table in the statement. Rename it "
            "in a view."
        )
    if kept and not accept_uncovered:
        raise BoundViolated(
            "a column may be kept beside what is published only where the bound holds for both "
            f"together; an export of {kept[0]!r} cannot tell.",
            advice="uncovered",
        )
    Output(None, encoded.columns, tuple(kept), cells=encoded.origin.cells)  # refuses equal names


def _refuse_cut(names: Iterable[str], dialect: StatementDialect) -> None:
    """Refuse names of which the warehouse reads the first bytes: they may be another column's."""
    most = dialect.most_name_bytes
    if most is not None and any(len(name.encode()) > most for name in names):
        raise InvalidInput(
            f"a name for {dialect.name} must have at most {most} bytes, of which it reads no more; "
            "one has more. Rename that column in a view, and design the release on it."
        )


def _refuse_ours(*names: str | None) -> None:
    """Refuse a table whose name, without a schema, may be that of a part of the statement."""
    parts = [split_name(name) for name in names if name is not None]
    if any(not schema and last.casefold().startswith(_OURS) for *schema, last in parts):
        raise InvalidInput(
            f"a table whose name begins with {_OURS} must be named with its schema, because parts "
            "of the statement have such names. Name it as SCHEMA.NAME."
        )


def _refuse_forms(
    view: str | None, model: str | None, *, dbt: bool, accept_unchecked: bool
) -> None:
    if dbt and view is not None:
        raise InvalidInput("name a view or a dbt model, not both; dbt says how a model is stored.")
    if not dbt and (model is not None or accept_unchecked):
        raise InvalidInput("model and accept_unchecked are for dbt; this export is not for dbt.")


def _refuse_view(dialect: StatementDialect) -> None:
    """Refuse a view where the subkey is a parameter, which belongs to one run of a statement."""
    if dialect.has_parameter:
        raise InvalidInput(
            f"a view for {dialect.name} must read its subkey from a table, because it cannot have "
            "parameters.",
            advice="subkey",
        )


def _aliased(table: Expression) -> Expression:
    """Return a table by a name of our own.

    DuckDB and PostgreSQL read the name of a table as its whole row where it has no such column:
    a column named as the table would publish S.
    """
    return exp.alias_(table, _ALIAS, table=True, quoted=True)


def _table(name: str) -> Expression:
    *schema, last = split_name(name)
    return table_named(last, *schema)


def _subkey_in(table: Expression) -> Expression:
    return exp.select(named("subkey")).from_(table).subquery()


def _head(encoded: Encoded, dialect: str) -> str:
    """Return comments that say what this is; names and values of the table are not in them."""
    return (
        f"-- Release {encoded.release.fingerprint}, published as {encoded.name}.\n"
        f"-- For {dialect}, made by lowlift {__version__}.\n"
    )


def _refuse_long(content: str, dialect: StatementDialect, encoded: Encoded) -> None:
    fewer = "Release fewer values" if encoded.origin.cells is None else "Design with fewer cells"
    size = len(content.encode())
    if size > dialect.most_bytes:
        raise InvalidInput(
            f"a statement for {dialect.name} must have at most {dialect.most_bytes:,} bytes; this "
            f"one has {size:,}. {fewer}, or use apply."
        )
