"""The questions asked of a table, as sqlglot expressions: names are quoted, values are bound."""

from collections.abc import Sequence

from sqlglot import exp

from lowlift.tables.bins import FAR, Each, Edges, Width
from lowlift.tables.columns import Column
from lowlift.tables.date_bins import FIRST, LAST, Calendar, DateBins, DateEdges, Days
from lowlift.tables.dialects import DIGITS, Dialect, DrawingDialect, Expression, number

__all__ = [
    "bound",
    "by_output",
    "count",
    "different",
    "drawn",
    "first",
    "groups",
    "id_faults",
    "in_order",
    "named",
    "quantiles",
    "rows",
    "symbol",
    "symbols",
    "symbols_counted",
    "values_counted",
]


def named(name: str, table: str | None = None) -> exp.Column:
    """Return a column by its quoted name."""
    return exp.column(name, table=table, quoted=True)


def bound(name: str, kind: str = "text") -> Expression:
    """Return the place of a bound value."""
    return exp.cast(exp.Placeholder(this=name), kind)


def rows(table: Expression) -> exp.Select:
    """Count the rows."""
    return exp.select(exp.Count(this=exp.Star())).from_(table.copy())


def first(table: Expression) -> exp.Select:
    """Tell whether there is a row: at most one."""
    return exp.select(exp.Literal.number(1)).from_(table.copy()).limit(1)


def count(columns: Sequence[Column], table: Expression, dialect: Dialect, most: int) -> exp.Select:
    """Count the rows of each symbol: c0, c1, ..., n; at most `most` + 1 groups."""
    places = [f"c{k}" for k in range(len(columns))]
    return (
        exp.select(*(exp.cast(named(place), "text") for place in places), named("n"))
        .from_(_grouped(columns, table, dialect).subquery("g"))
        .limit(most + 1)
    )


def _grouped(columns: Sequence[Column], table: Expression, dialect: Dialect) -> exp.Select:
    places = [f"c{k}" for k in range(len(columns))]
    return (
        exp.select(*map(named, places), exp.Count(this=exp.Star()).as_("n"))
        .from_(_keys(columns, table, dialect).subquery("v"))
        .group_by(*map(named, places))
    )


def _keys(columns: Sequence[Column], table: Expression, dialect: Dialect) -> exp.Select:
    keys = (_key(column, dialect).as_(f"c{k}") for k, column in enumerate(columns))
    return exp.select(*keys).from_(table.copy())


def groups(
    columns: Sequence[Column],
    table: Expression,
    dialect: Dialect,
    part: int = 1,
    first: int | None = None,
) -> exp.Select:
    """Count one in `part` of the combinations of symbols, chosen by their hashes.

    It takes so much less memory than to count all of them. Only the first rows if so asked.
    """
    keys = _keys(columns, table, dialect)
    keys = keys if first is None else keys.limit(first)
    hashed = dialect.hashed([named(f"c{k}") for k in range(len(columns))])
    hashes = exp.select(hashed.as_("h")).from_(keys.subquery("v"))
    is_chosen = exp.EQ(this=exp.Mod(this=named("h"), expression=number(part)), expression=number(0))
    different = exp.Count(this=exp.Distinct(expressions=[named("h")]))
    return exp.select(different).from_(hashes.subquery("w")).where(is_chosen)


def symbols_counted(
    columns: Sequence[Column], table: Expression, dialect: Dialect, first: int
) -> exp.Select:
    """Count the first rows, and in them the different symbols of each column, without missing."""
    counts = (
        exp.Count(this=exp.Distinct(expressions=[named(f"c{k}")])) for k in range(len(columns))
    )
    keys = _keys(columns, table, dialect).limit(first)
    return rows(keys.subquery("v")).select(*counts)


def _key(column: Column, dialect: Dialect) -> Expression:
    """Return what the rows are grouped by: cheap to group, and one to one with the symbol."""
    if column.kind != "text" and isinstance(column.bins, Each | None):
        # The value, not its text: DuckDB reads a text as the file has it, number or not.
        return named(column.name)
    return symbol(column, dialect)


def symbol(column: Column, dialect: Dialect) -> Expression:
    """Return a column's symbol as text, NULL where the value is missing."""
    value = named(column.name)
    if isinstance(column.bins, Edges):
        return _edges(value, column, column.bins, dialect)
    if isinstance(column.bins, Width):
        return _width(value, column, column.bins, dialect)
    if isinstance(column.bins, DateBins):
        day = exp.cast(value if column.kind == "date" else exp.cast(value, "timestamp"), "date")
        return _date_bins(day, column.bins, dialect)
    return dialect.text(value)


def _numeric(value: Expression, *, exact: bool) -> Expression:
    return value if exact else exp.cast(value, "double")


def _missing(value: Expression, exact: bool, dialect: Dialect) -> Expression:
    null = exp.Is(this=value.copy(), expression=exp.null())
    return null if exact else exp.or_(null, dialect.is_nan(value.copy()))


def _literal(value: float, *, exact: bool) -> Expression:
    return number(value) if exact else exp.cast(number(value), "double")


def _edges(value: Expression, column: Column, bins: Edges, dialect: Dialect) -> Expression:
    exact = column.kind == "integer" and all(isinstance(edge, int) for edge in bins.edges)
    value = _numeric(value, exact=exact)
    case = exp.case().when(_missing(value, exact, dialect), exp.null())
    for edge, label in zip(bins.edges, bins.labels, strict=False):
        below = exp.LT(this=value.copy(), expression=_literal(edge, exact=exact))
        case = case.when(below, exp.Literal.string(label))
    return case.else_(exp.Literal.string(bins.labels[-1]))


def _width(value: Expression, column: Column, bins: Width, dialect: Dialect) -> Expression:
    width, parts = bins.ratio
    if column.kind == "integer" and parts == 1:
        # Rounded down on both sides of zero: engines' divisions round towards it.
        above = dialect.divide(value.copy(), width)
        negative = exp.paren(exp.Neg(this=exp.paren(value.copy() + number(1))))
        below = number(-1) - exp.paren(dialect.divide(negative, width))
        sign = exp.LT(this=value.copy(), expression=number(0))
        return dialect.text(exp.case().when(sign, below).else_(above))
    value = exp.cast(value, "double")
    scaled = exp.Mul(this=value.copy(), expression=_literal(float(parts), exact=False))
    ratio = exp.Div(
        this=exp.paren(scaled), expression=_literal(float(width), exact=False), typed=True
    )
    index = exp.Floor(this=ratio)
    far = _literal(float(FAR), exact=False)
    near = _literal(float(-FAR), exact=False)
    return (
        exp.case()
        .when(_missing(value, exact=False, dialect=dialect), exp.null())
        .when(exp.LT(this=index.copy(), expression=near), exp.Literal.string("<"))
        .when(exp.GTE(this=index.copy(), expression=far), exp.Literal.string(">"))
        .else_(exp.cast(exp.cast(index.copy(), "bigint"), "text"))
    )


def _date_bins(day: Expression, bins: DateBins, dialect: Dialect) -> Expression:
    case = exp.case().when(exp.Is(this=day.copy(), expression=exp.null()), exp.null())
    if isinstance(bins, DateEdges):
        for edge, label in zip(bins.edges, bins.labels, strict=False):
            before = exp.LT(this=day.copy(), expression=_day(edge))
            case = case.when(before, exp.Literal.string(label))
        return case.else_(exp.Literal.string(bins.labels[-1]))
    months = bins.months if isinstance(bins, Calendar) else None
    if months is None:
        width = bins.days if isinstance(bins, Days) else 1
        index = dialect.divide(dialect.days(day.copy(), _day(str(FIRST))), width)
    else:
        year, month = (
            exp.cast(exp.Extract(this=exp.var(unit), expression=day.copy()), "bigint")
            for unit in ("YEAR", "MONTH")
        )
        counted = year * number(12) + month - number(1)
        index = dialect.divide(exp.paren(counted), months)
    return (
        case.when(exp.LT(this=day.copy(), expression=_day(str(FIRST))), exp.Literal.string("<"))
        .when(exp.GT(this=day.copy(), expression=_day(str(LAST))), exp.Literal.string(">"))
        .else_(exp.cast(index, "text"))
    )


def _day(text: str) -> Expression:
    return exp.cast(exp.Literal.string(text), "date")


def values_counted(column: str, kind: str, table: Expression, dialect: Dialect) -> exp.Select:
    """Count the values of a numeric column that are not missing."""
    exact = kind == "integer"
    value = _numeric(named(column), exact=exact)
    return rows(table).where(exp.Not(this=exp.paren(_missing(value, exact, dialect))))


def quantiles(
    column: str, kind: str, shares: Sequence[float], table: Expression, dialect: Dialect
) -> exp.Select:
    """Return the values at these shares of the sorted ones that are not missing."""
    exact = kind == "integer"
    value = _numeric(named(column), exact=exact)
    present = (
        exp.select(value.as_("v"))
        .from_(table.copy())
        .where(exp.Not(this=exp.paren(_missing(value, exact, dialect))))
    )
    return exp.select(*dialect.quantiles(named("v"), shares)).from_(present.subquery("p"))


def different(columns: Sequence[str], table: Expression) -> exp.Select:
    """Count, for each column, its different values and the rows that have one."""
    counts = []
    for name in columns:
        counts.append(exp.Count(this=exp.Distinct(expressions=[named(name)])))
        counts.append(exp.Count(this=named(name)))
    return exp.select(*counts).from_(table.copy())


def id_faults(column: str, table: Expression) -> exp.Select:
    """Count the rows, the rows with an id, and the different ids."""
    different = exp.Count(this=exp.Distinct(expressions=[named(column)]))
    return rows(table).select(exp.Count(this=named(column)), different)


def symbols(
    columns: Sequence[Column],
    table: Expression,
    dialect: Dialect,
    *,
    row: str | None,
    keep: Sequence[str] = (),
) -> exp.Select:
    """Return what a row is drawn by: its symbols c0, c1, ..., what is kept, its id as text in t."""
    identity = [] if row is None else [exp.cast(named(row), "text").as_("t")]
    return exp.select(
        *(symbol(column, dialect).as_(f"c{k}") for k, column in enumerate(columns)),
        *(named(name).as_(f"k{k}") for k, name in enumerate(keep)),
        *identity,
    ).from_(table.copy())


def drawn(
    columns: Sequence[Column],
    table: Expression,
    alias: Expression,
    bits: tuple[int, int],
    dialect: DrawingDialect,
    *,
    row: str | None,
    key: Expression,
    keep: Sequence[str] = (),
    order: str | None = None,
    drop_missing: bool = False,
) -> exp.Select:
    """Draw each row's output: y, what is kept as k0, k1, ..., and its place in the order.

    The uniform number u of a row has 60 bits. Its leading k bits choose a slot of the alias table
    and the d that follow choose between the slot's two outputs, so that k + d <= 60.
    Bound value: `null`, the text that stands for NULL in the alias table.

    Parameters
    ----------
    columns
        The columns of X.
    table, alias
        The table, and the alias table with columns c0, c1, ..., slot, threshold, first, other.
    bits
        k and d.
    dialect
        The engine's.
    row
        The id column; None for the row's number.
    key
        The digits of the key: a bound value, or a subquery where plans show bound values.
    keep
        Columns to carry along.
    order
        "shuffled" adds column o, further digits of the digest; "kept" the row's number.
    drop_missing
        Whether rows with a missing symbol leave.
    """
    places = [f"c{k}" for k in range(len(columns))]
    kept = [f"k{k}" for k in range(len(keep))]
    numbered = ["o"] if order == "kept" else []
    identity = dialect.row_number() if row is None else named(row)
    values = exp.select(
        *(symbol(c, dialect).as_(place) for c, place in zip(columns, places, strict=True)),
        *(named(name).as_(place) for name, place in zip(keep, kept, strict=True)),
        exp.cast(identity, "text").as_("t"),
        *(dialect.row_number().as_(place) for place in numbered),
    ).from_(table.copy())
    text = named("t")
    message = dialect.concat(
        key, exp.cast(dialect.octets(text), "text"), exp.Literal.string(":"), text.copy()
    )
    carried = (*places, *kept, *numbered)
    digests = exp.select(*map(named, carried), dialect.digest(message).as_("h"))
    digests = digests.from_(values.subquery("v"))
    if drop_missing:
        digests = digests.where(*(exp.Not(this=named(c).is_(exp.null())) for c in places))
    uniform = exp.select(*map(named, carried), dialect.hex_number(_digits(1, DIGITS)).as_("u"))
    if order == "shuffled":
        uniform = uniform.select(dialect.text(_digits(DIGITS + 1, 32)).as_("o"))
    uniform = uniform.from_(digests.subquery("d"))
    carried = (*kept, *(["o"] if order else []))
    return _joined_to_alias(uniform, places, carried, alias, bits, dialect)


def _digits(start: int, length: int) -> Expression:
    return exp.Substring(this=named("h"), start=number(start), length=number(length))


def _joined_to_alias(
    uniform: exp.Select,
    symbols: Sequence[str],
    carried: Sequence[str],
    alias: Expression,
    bits: tuple[int, int],
    dialect: Dialect,
) -> exp.Select:
    k, d = bits
    whole = 4 * DIGITS
    slot = _shifted(named("u", "u"), whole - k)
    rest = exp.BitwiseAnd(
        this=exp.paren(_shifted(named("u", "u"), whole - k - d)), expression=number((1 << d) - 1)
    )
    output = (
        exp.case()
        .when(exp.LT(this=exp.paren(rest), expression=named("threshold", "a")), named("first", "a"))
        .else_(named("other", "a"))
    )
    matches = [
        exp.EQ(
            this=exp.Coalesce(this=named(place, "u"), expressions=[dialect.text(bound("null"))]),
            expression=named(place, "a"),
        )
        for place in symbols
    ]
    # A left join: a symbol that the channel does not know must be found, not lost.
    return (
        exp.select(
            output.as_("y"),
            *(named(place, "u").as_(place) for place in carried),
        )
        .from_(uniform.subquery("u"))
        .join(
            exp.alias_(alias.copy(), "a", table=True),
            on=exp.and_(*matches, exp.EQ(this=named("slot", "a"), expression=slot)),
            join_type="left",
        )
    )


def _shifted(value: Expression, bits: int) -> Expression:
    return exp.BitwiseRightShift(this=value, expression=number(bits)) if bits else value


def by_output(drawn_rows: exp.Select) -> exp.Select:
    """Count the rows of each output; NULL for rows whose symbol the channel does not know."""
    return (
        exp.select(named("y"), exp.Count(this=exp.Star()).as_("n"))
        .from_(drawn_rows.subquery("r"))
        .group_by(named("y"))
    )


def in_order(drawn_rows: exp.Select, kept: int, *, ordered: bool = True) -> exp.Select:
    """Return y, k0, k1, ... of the rows that have an output, in their order."""
    places = ["y", *(f"k{k}" for k in range(kept))]
    query = (
        exp.select(*map(named, places))
        .from_(drawn_rows.subquery("r"))
        .where(exp.Not(this=named("y").is_(exp.null())))
    )
    return query.order_by(named("o")) if ordered else query
