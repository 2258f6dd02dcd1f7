"""How each warehouse writes what a statement needs that draws by itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlglot import exp

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


def _of(dialect: Dialect, **more: Any) -> StatementDialect:
    """Return a dialect with what it lacks, and what differs."""
    known = {field.name: getattr(dialect, field.name) for field in fields(dialect)}
    known |= {"whole": _DECIMAL, "divide_whole": _decimal_division}
    return StatementDialect(**(known | more))


def _text(value: str) -> Expression:
    return exp.Literal.string(value)


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
    ),
    "spark": _of(
        SPARK,
        fail=lambda text: call("raise_error", text),
        subkey=lambda: exp.Placeholder(this=SUBKEY),
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
    ),
}
