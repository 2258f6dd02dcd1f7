"""How each warehouse writes what a statement needs that draws by itself."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlglot import exp

from lowlift._exports.kinds import DUCKDB_TYPES, POSTGRES_TYPES, SPARK_TYPES, Types
from lowlift.tables.date_bins import FIRST, LAST
from lowlift.tables.dialects import (
    DIGITS,
    DUCKDB,
    POSTGRES,
    SPARK,
    Dialect,
    DrawingDialect,
    Expression,
    call,
    number,
)

#: What the secret text is called, wherever it is set.
SUBKEY = "lowlift_subkey"
_MEGABYTE = 1_000_000
_LINE_END = re.compile(r"([\r\n])")
_LINE_END_OR_BACKSLASH = re.compile(r"([\r\n\\])")


@dataclass(frozen=True)
class StatementDialect(DrawingDialect):
    """What a statement needs that is run without lowlift."""

    #: An expression that raises an error with this text, which must not be a constant.
    fail: Callable[[Expression], Expression]
    #: Where the subkey is read from: a setting of the session, or a parameter of the statement.
    subkey: Callable[[], Expression]
    #: The type of the largest whole numbers, 126 bits or more; too large ones must be errors.
    whole: str
    #: Such a number, not negative, divided by another and rounded down.
    divide_whole: Callable[[Expression, int], Expression]
    #: The longest statement that it takes, in bytes.
    most_bytes: int = 64 * _MEGABYTE
    #: Whether the subkey is a parameter of the statement, which a view cannot have.
    has_parameter: bool = False
    #: How it names the types of columns; None: the statement does not look at them.
    types_read: Types | None = None
    #: Whether a name with its table's is a column; PostgreSQL calls functions of the row so.
    qualifies_columns: bool = True
    #: Whether a setting says how days are cast to text.
    writes_days_by_setting: bool = False
    #: How many bytes of a name are read, where longer ones are cut; None: they are errors.
    most_name_bytes: int | None = None

    def sql(self, query: Expression, **how: Any) -> str:
        """Return a query as the warehouse reads it from a file; `how` is for sqlglot.

        A line end inside a text is not written as such: a reader of files may change it, and the
        value would be another one. Where texts have no escapes, CHR says what it is. In PostgreSQL
        it says what a backslash is, too: by a setting of the server, an escape.
        """
        written = query.copy()
        apart = _LINE_END_OR_BACKSLASH if self.name == "postgres" else _LINE_END
        for text in list(written.find_all(exp.Literal)):
            if text.is_string and apart.search(text.this) and self._is_raw:
                joined = _with_calls(text.this, apart)
                if text is written:
                    written = joined
                text.replace(joined)
        return self.without_variables(written, written.sql(dialect=self.name, **how))

    @property
    def _is_raw(self) -> bool:
        """Whether texts have no escapes for line ends."""
        return "\n" in exp.Literal.string("\n").sql(dialect=self.name)


def _with_calls(text: str, apart: re.Pattern[str]) -> Expression:
    """Return an expression of a text in which the characters of a pattern are calls of CHR."""
    parts = [part for part in apart.split(text) if part]
    made = [
        exp.Chr(expressions=[number(ord(part))]) if apart.fullmatch(part) else _text(part)
        for part in parts
    ]
    joined = made[0]
    for part in made[1:]:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.paren(joined)


def _of(dialect: Dialect, **more: Any) -> StatementDialect:
    """Return a dialect with what it lacks, and what differs."""
    known = {field.name: getattr(dialect, field.name) for field in fields(dialect)}
    known |= {"whole": _DECIMAL, "divide_whole": _decimal_division}
    return StatementDialect(**(known | more))


def _text(value: str) -> Expression:
    return exp.Literal.string(value)


def written_day(day: Expression, cast: Expression) -> Expression:
    """Return a day of the years that have four digits as 2024-03-05, others as they are cast."""
    first, last = (exp.cast(_text(str(end)), "date") for end in (FIRST, LAST))
    is_plain = exp.and_(exp.GTE(this=day, expression=first), exp.LTE(this=day, expression=last))
    text = call("TO_CHAR", day.copy(), _text("YYYY-MM-DD"))
    return exp.case().when(is_plain, text).else_(cast)


def _failing_cast(text: Expression) -> Expression:
    # PostgreSQL and its kin have no function that raises: the error quotes what cannot be cast.
    return exp.cast(text, "int")


def _postgres_digest(text: Expression) -> Expression:
    octets = call("sha256", call("convert_to", text, _text("UTF8")))
    return call("encode", octets, _text("hex"))


def _postgres_number(digits: Expression) -> Expression:
    bits = exp.cast(
        call("concat", _text("x"), call("lpad", digits, number(16), _text("0"))), "bit(64)"
    )
    return exp.cast(bits, "bigint")


def _setting(*arguments: Expression) -> Expression:
    return call("current_setting", _text(SUBKEY.replace("_", ".", 1)), *arguments)


def _days(day: Expression, start: Expression) -> Expression:
    return exp.DateDiff(this=day, expression=start, unit=exp.var("DAY"))


def _exact_division(value: Expression, by: int, to: str = "bigint") -> Expression:
    # Snowflake rounds a quotient that is not whole to some digits, possibly up.
    rest = exp.Mod(this=exp.paren(value.copy()), expression=number(by))
    whole = exp.paren(exp.Sub(this=exp.paren(value), expression=rest))
    return exp.cast(exp.Div(this=whole, expression=number(by), typed=True), to)


_DECIMAL = "decimal(38, 0)"


def _decimal_division(value: Expression, by: int) -> Expression:
    return _exact_division(value, by, _DECIMAL)


_NO_UUID = dict(POSTGRES.types) | {"uuid": "text"}
_SHA2: Callable[[Expression], Expression] = lambda text: call("SHA2", text, number(256))  # noqa: E731 (as its neighbours are)

DIALECTS: Mapping[str, StatementDialect] = {
    "duckdb": _of(
        DUCKDB,
        fail=lambda text: call("error", text),
        subkey=lambda: call("getvariable", _text(SUBKEY)),
        whole="int128",
        divide_whole=DUCKDB.divide,
        types_read=DUCKDB_TYPES,
    ),
    "postgres": _of(
        POSTGRES,
        digest=_postgres_digest,
        hex_number=_postgres_number,
        octets=lambda text: call("octet_length", call("convert_to", text, _text("UTF8"))),
        concat=lambda *parts: call("concat", *parts),
        fail=_failing_cast,
        subkey=lambda: _setting(exp.true()),
        whole="decimal",
        divide_whole=lambda value, by: call("div", value, number(by)),
        types_read=POSTGRES_TYPES,
        qualifies_columns=False,
        most_name_bytes=63,
        writes_days_by_setting=True,
    ),
    "spark": _of(
        SPARK,
        fail=lambda text: call("raise_error", text),
        subkey=lambda: exp.Placeholder(this=SUBKEY),
        has_parameter=True,
        types_read=SPARK_TYPES,
    ),
    "bigquery": _of(
        SPARK,
        name="bigquery",
        types=_NO_UUID,
        digest=lambda text: call("TO_HEX", call("SHA256", text)),
        hex_number=lambda digits: exp.cast(call("CONCAT", _text("0x"), digits), "bigint"),
        octets=lambda text: call("BYTE_LENGTH", text),
        concat=lambda *parts: call("CONCAT", *parts),
        is_nan=lambda value: call("IS_NAN", value),
        divide=lambda value, by: call("DIV", value, number(by)),
        days=_days,
        fail=lambda text: call("ERROR", text),
        whole="bigdecimal",
        divide_whole=lambda value, by: call("DIV", value, number(by)),
        subkey=lambda: exp.Parameter(this=exp.var(SUBKEY)),
        most_bytes=_MEGABYTE,
        has_parameter=True,
    ),
    "snowflake": _of(
        SPARK,
        name="snowflake",
        types=_NO_UUID,
        digest=_SHA2,
        hex_number=lambda digits: call("TO_NUMBER", digits, _text("X" * DIGITS)),
        octets=lambda text: call("OCTET_LENGTH", text),
        concat=lambda *parts: call("CONCAT", *parts),
        is_nan=POSTGRES.is_nan,
        divide=_exact_division,
        days=_days,
        fail=_failing_cast,
        subkey=lambda: exp.Parameter(this=exp.var(SUBKEY)),
        most_bytes=_MEGABYTE,
        writes_days_by_setting=True,
    ),
    "redshift": _of(
        SPARK,
        name="redshift",
        types=_NO_UUID,
        digest=_SHA2,
        hex_number=lambda digits: call("STRTOL", digits, number(16)),
        octets=lambda text: call("OCTET_LENGTH", text),
        is_nan=POSTGRES.is_nan,
        divide=_exact_division,
        days=_days,
        fail=_failing_cast,
        subkey=_setting,
        most_bytes=16 * _MEGABYTE,
        most_name_bytes=127,
        writes_days_by_setting=True,
    ),
    "trino": _of(
        SPARK,
        name="trino",
        types=POSTGRES.types,
        digest=lambda text: call("LOWER", call("TO_HEX", call("SHA256", call("TO_UTF8", text)))),
        hex_number=lambda digits: call("FROM_BASE", digits, number(16)),
        octets=lambda text: call("LENGTH", call("TO_UTF8", text)),
        concat=lambda *parts: call("CONCAT", *parts),
        is_nan=lambda value: call("IS_NAN", value),
        divide=_exact_division,
        days=_days,
        fail=lambda text: call("FAIL", text),
        subkey=exp.Placeholder,
        most_bytes=_MEGABYTE,
        has_parameter=True,
    ),
}
