"""How each engine writes what the queries need; everything else is written the same for all.

A uniform number that agrees on every engine is the leading 15 hex digits of a SHA-256, read as a
whole number of 60 bits; each engine has its own way to say that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from lowlift.errors import InvalidInput

Expression: TypeAlias = exp.Expr

#: Hex digits of the digest that become the uniform number, and their bits.
DIGITS = 15
#: How a variable begins, for Spark.
_VARIABLE = "${"
#: Far beyond all bins of every width, and so far from the largest double that products with the
#: numbers of a width are below that.
_FARTHEST = 1e280


def call(name: str, *arguments: Expression) -> Expression:
    """Return a call of a function by its name in the engine."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def table_named(name: str, schema: str | None = None, catalog: str | None = None) -> exp.Table:
    """Return a table by its quoted name."""
    return exp.table_(name, db=schema, catalog=catalog, quoted=True)


def number(value: float) -> Expression:
    """Return a literal; one that is not whole is a double in every engine."""
    text = str(value) if isinstance(value, int) else _double(value)
    return exp.Literal.number(text)


def _double(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"


@dataclass(frozen=True)
class Dialect:
    """What differs between engines."""

    #: The engine, and the name sqlglot has for its SQL.
    name: str
    #: The SQL type of each kind of output column.
    types: Mapping[str, str]
    #: The collation in which texts are equal only when their bytes are; None where it is the rule.
    collation: Expression | None
    is_nan: Callable[[Expression], Expression]
    #: A non-negative whole number divided by another, rounded down.
    divide: Callable[[Expression, int], Expression]
    #: How many days the first date is after the second.
    days: Callable[[Expression, Expression], Expression]
    #: The values at fractions of the sorted ones: one list, or a column each.
    quantiles: Callable[[Expression, Sequence[float]], list[Expression]]
    #: A different whole number for each row.
    row_number: Callable[[], Expression]
    #: Values as one whole number of 64 bits, different for different values but by chance.
    hashed: Callable[[Sequence[Expression]], Expression]
    #: Whether a LIMIT reads hardly more rows than it returns.
    stops_early: bool

    def text(self, value: Expression) -> Expression:
        """Return a value as text that is equal only to itself."""
        cast = exp.cast(value, "text")
        if self.collation is None:
            return cast
        return exp.Collate(this=cast, expression=self.collation.copy())

    def bounded(self, value: Expression) -> Expression:
        """Return a double whose product with a width's numbers is no error.

        PostgreSQL refuses what others make infinite.
        """
        if self.name != "postgres":
            return value
        least = call("greatest", value, exp.cast(number(-_FARTHEST), "double"))
        return call("least", least, exp.cast(number(_FARTHEST), "double"))

    def among(self, value: Expression, listed: Sequence[Expression]) -> Expression:
        """Tell whether a value is one of those listed; NULL for a missing one."""
        if self.name == "duckdb":  # which makes a join of each longer IN
            return call("list_contains", exp.Array(expressions=list(listed)), value)
        return exp.In(this=value, expressions=list(listed))

    def sql(self, query: Expression) -> str:
        """Return the query as the engine reads it.

        Raises
        ------
        InvalidInput
            For Spark, when a name has a variable in it.
        """
        return self.without_variables(query, query.sql(dialect=self.name))

    def without_variables(self, query: Expression, text: str) -> str:
        """Return SQL in which Spark finds no variable.

        It puts settings and variables of its process in place of ``${NAME}`` before it reads a
        query, inside values and names too. A value can be written by an escape, a name cannot.
        """
        if self.name != "spark" or _VARIABLE not in text:
            return text
        for name in query.find_all(exp.Identifier):
            if _VARIABLE in name.this:
                raise InvalidInput(
                    f"a name in Spark must not have {_VARIABLE} in it, where Spark puts a "
                    f"variable; got {name.this!r}. Give it another name in a view."
                )
        return text.replace(_VARIABLE, f"\\u{ord('$'):04x}{{")


@dataclass(frozen=True)
class DrawingDialect(Dialect):
    """What an engine needs to draw rows: one that keeps the key out of its logs and plans."""

    #: Text to the lower-case hex digits of its SHA-256.
    digest: Callable[[Expression], Expression]
    #: `DIGITS` hex digits to a whole number.
    hex_number: Callable[[Expression], Expression]
    #: Text to its length in UTF-8 bytes.
    octets: Callable[[Expression], Expression]
    #: Texts, none of them NULL, one after the other.
    concat: Callable[..., Expression]


def _types(text: str, uuid: str) -> dict[str, str]:
    return {
        "text": text,
        "integer": "bigint",
        "boolean": "boolean",
        "date": "date",
        "uuid": uuid,
    }


def _within_group(value: Expression, share: Expression) -> Expression:
    return exp.WithinGroup(
        this=call("percentile_disc", share),
        expression=exp.Order(expressions=[exp.Ordered(this=value.copy())]),
    )


def _list(shares: Sequence[float]) -> Expression:
    return exp.Array(expressions=[number(share) for share in shares])


def _postgres_hash(values: Sequence[Expression]) -> Expression:
    return call("hashtextextended", exp.cast(call("row", *values), "text"), number(0))


def _spark_hash(values: Sequence[Expression]) -> Expression:
    # Spark passes over NULL: (1, NULL) and (NULL, 1) would have one hash.
    are_null = (exp.Is(this=value.copy(), expression=exp.null()) for value in values)
    return call("xxhash64", *values, *are_null)


def _duckdb_number(digits: Expression) -> Expression:
    return exp.cast(call("concat", exp.Literal.string("0x"), digits), "bigint")


DUCKDB = DrawingDialect(
    name="duckdb",
    types=_types("varchar", "uuid"),
    collation=exp.Var(this="C"),
    digest=lambda text: call("sha256", text),
    hex_number=_duckdb_number,
    octets=lambda text: call("strlen", text),
    is_nan=lambda value: call("isnan", value),
    divide=lambda value, by: exp.IntDiv(this=value, expression=number(by)),
    days=lambda day, start: call("datediff", exp.Literal.string("day"), start, day),
    # One list: separate calls would each hold all values in memory.
    quantiles=lambda value, shares: [call("quantile_disc", value, _list(shares))],
    row_number=lambda: exp.Window(this=exp.RowNumber()),
    hashed=lambda values: call("hash", *values),
    stops_early=True,
    # The function is faster than the operator; it skips NULL, so callers refuse NULL before.
    concat=lambda *parts: call("concat", *parts),
)

POSTGRES = Dialect(
    name="postgres",
    types=_types("text", "uuid"),
    collation=exp.to_identifier("C", quoted=True),
    is_nan=lambda value: exp.EQ(
        this=value, expression=exp.cast(exp.Literal.string("NaN"), "double")
    ),
    divide=lambda value, by: exp.Div(this=value, expression=number(by), typed=True),
    days=lambda day, start: exp.paren(exp.Sub(this=day, expression=start)),
    quantiles=lambda value, shares: [
        _within_group(value, exp.cast(_list(shares), "double[]", dialect="postgres"))
    ],
    row_number=lambda: exp.Window(this=exp.RowNumber()),
    hashed=_postgres_hash,
    stops_early=True,
)

SPARK = DrawingDialect(
    name="spark",
    types=_types("string", "string"),
    collation=None,
    digest=lambda text: call("sha2", exp.cast(text, "binary"), exp.Literal.number(256)),
    hex_number=lambda digits: exp.cast(
        call("conv", digits, exp.Literal.number(16), exp.Literal.number(10)), "bigint"
    ),
    octets=lambda text: call("octet_length", text),
    is_nan=lambda value: call("isnan", value),
    divide=lambda value, by: exp.IntDiv(this=value, expression=number(by)),
    days=lambda day, start: call("datediff", day, start),
    quantiles=lambda value, shares: [_within_group(value, number(share)) for share in shares],
    row_number=lambda: call("monotonically_increasing_id"),
    hashed=_spark_hash,
    stops_early=False,
    concat=lambda *parts: exp.Concat(expressions=list(parts)),
)
