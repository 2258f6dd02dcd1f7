"""A release as one SQL statement: a SELECT, a view, or a dbt model and its test."""

from sqlglot import exp

from lowlift._arguments import check_choice
from lowlift._exports.carrying import is_function
from lowlift._exports.dialects import DIALECTS, StatementDialect
from lowlift._exports.files import Export
from lowlift._exports.statements import Statement
from lowlift._version import __version__
from lowlift.encodings import Encoded
from lowlift.errors import InvalidInput
from lowlift.tables.dialects import Expression, table_named
from lowlift.tables.draws import UNSEEN
from lowlift.tables.queries import named
from lowlift.tables.sources import split_name


def exported(
    encoded: Encoded,
    *,
    dialect: str = "duckdb",
    table: str = "",
    id: str | None = None,  # noqa: A002 (as in the options of every way to publish)
    key_table: str | None = None,
    view: str | None = None,
    unseen: str = "error",
) -> Export:
    """Return the statement.

    Parameters
    ----------
    dialect
        "duckdb", "postgres", "spark", "bigquery", "snowflake", "redshift" or "trino".
    table
        The table that is read, NAME or SCHEMA.NAME.
    id
        The column of ids that is hashed; a release that draws nothing needs none.
    key_table
        A table of one row whose column ``subkey`` has the subkey, instead of a setting.
    view
        Make a view of this name.
    unseen
        What to do with values that the design did not have: "error" or "suppress".
    """
    check_choice(dialect, "dialect", tuple(DIALECTS))
    check_choice(unseen, "unseen", UNSEEN)
    if not table:
        raise InvalidInput("an export to sql must name the table that is read; got none.")
    if id is None and not is_function(encoded):
        raise InvalidInput(
            "an export must draw by a key and a column of ids, because this release draws; got no "
            "id column. Name one."
        )
    written = DIALECTS[dialect]
    statement = Statement(
        encoded, written, _table(table), id, _key(written, key_table), unseen
    ).select()
    # Every name in quotes: some warehouses read others in upper case.
    text = statement.sql(dialect, pretty=True, identify=True)
    if view is not None:
        text = f"CREATE VIEW {written.sql(_table(view))} AS\n{text}"
    content = f"{_head(encoded, written)}{text};\n"
    _refuse_long(content, written)
    return Export({"release.sql": content})


def _table(name: str) -> Expression:
    *schema, last = split_name(name)
    return table_named(last, *schema)


def _key(dialect: StatementDialect, key_table: str | None) -> Expression:
    if key_table is None:
        return dialect.subkey()
    return exp.select(named("subkey")).from_(_table(key_table)).subquery()


def _head(encoded: Encoded, dialect: StatementDialect) -> str:
    """Return comments that say what this is; names and values of the table are not in them."""
    return (
        f"-- Release {encoded.release.fingerprint}, published as {encoded.name}.\n"
        f"-- For {dialect.name}, made by lowlift {__version__}.\n"
    )


def _refuse_long(content: str, dialect: StatementDialect) -> None:
    size = len(content.encode())
    if size > dialect.most_bytes:
        raise InvalidInput(
            f"a statement for {dialect.name} must have at most {dialect.most_bytes:,} bytes; this "
            f"one has {size:,}. Release fewer values, or use apply."
        )
