"""The questions asked of a table, as sqlglot expressions: names are quoted, values are bound."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlglot import exp

from lowlift._cells.tree import Split
from lowlift.tables.bins import FAR, Each, Edges, Width
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import Column, cells_in
from lowlift.tables.date_bins import FIRST, LAST, Calendar, DateBins, DateEdges, Days
from lowlift.tables.dialects import Dialect, Expression, number

#: How a value that was written as text is read again.
_CASTS = {
    "integer": "bigint",
    "real": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestampntz",
    "uuid": "text",
}


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


def head(table: Expression, most: int) -> Expression:
    """Return the first rows of a table, at most so many."""
    return exp.select(exp.Star()).from_(table.copy()).limit(most).subquery("head")


def groups(
    columns: Sequence[Column], table: Expression, dialect: Dialect, part: int = 1
) -> exp.Select:
    """Count one in `part` of the combinations of symbols, chosen by their hashes.

    It takes so much less memory than to count all of them.
    """
    keys = _keys(columns, table, dialect)
    hashed = dialect.hashed([named(f"c{k}") for k in range(len(columns))])
    hashes = exp.select(hashed.as_("h")).from_(keys.subquery("v"))
    is_chosen = (named("h") % number(part)).eq(0)
    different = exp.Count(this=exp.Distinct(expressions=[named("h")]))
    return exp.select(different).from_(hashes.subquery("w")).where(is_chosen)


def symbols_counted(columns: Sequence[Column], table: Expression, dialect: Dialect) -> exp.Select:
    """Count the rows, and in them the different symbols of each column, without missing."""
    counts = (
        exp.Count(this=exp.Distinct(expressions=[named(f"c{k}")])) for k in range(len(columns))
    )
    return rows(_keys(columns, table, dialect).subquery("v")).select(*counts)


def _key(column: Column, dialect: Dialect) -> Expression:
    """Return what the rows are grouped by: cheap to group, and one to one with the symbol."""
    if isinstance(column.bins, CellBins):
        return _cell(column.bins, dialect)
    if column.kind != "text" and isinstance(column.bins, Each | None):
        # The value, not its text: DuckDB reads a text as the file has it, number or not.
        return named(column.name)
    return symbol(column, dialect)


def symbol(column: Column, dialect: Dialect) -> Expression:
    """Return a column's symbol as text, NULL where the value is missing."""
    if isinstance(column.bins, CellBins):
        return exp.cast(_cell(column.bins, dialect), "text")
    value = named(column.name)
    if isinstance(column.bins, Edges):
        return _edges(value, column, column.bins, dialect)
    if isinstance(column.bins, Width):
        return _width(value, column, column.bins, dialect)
    if isinstance(column.bins, DateBins):
        day = exp.cast(value if column.kind == "date" else exp.cast(value, "timestamp"), "date")
        return _date_bins(day, column.bins, dialect)
    return dialect.text(value)


def cell(column: Column, dialect: Dialect, table: str | None = None) -> Expression:
    """Return the number of a row's cell; `table` is the name that its columns are read by."""
    return _cell(cells_in(column), dialect, table)


def _cell(bins: CellBins, dialect: Dialect, table: str | None = None) -> Expression:
    if bins.known:
        return named(bins.known, table)
    return below(bins, 0 if bins.tree.splits else -1, dialect, table=table)


def below(
    bins: CellBins,
    node: int,
    dialect: Dialect,
    ends: Collection[int] = frozenset(),
    table: str | None = None,
) -> Expression:
    """Return where a row ends below a node, as one nested CASE: a missing value meets none.

    That is the number of a cell; or, for one of the nodes in `ends`, ``-1 - node``.
    """
    columns = list(bins.columns.items())

    def walk(node: int, *, is_first: bool = False) -> str:
        if node < 0 or (node in ends and not is_first):
            return str(-1 - node)
        split = bins.tree.splits[node]
        name, kind = columns[split.column]
        value = named(name, table)
        left = _condition(value, kind, split, dialect, is_text=name in bins.texts)
        return f"CASE WHEN {dialect.sql(left)} THEN {walk(split.left)} ELSE {walk(split.right)} END"

    # As the text it is: hundreds of conditions would be copied with every query they are part of.
    return exp.Var(this=walk(node, is_first=True))


def _condition(
    column: Expression, kind: str, split: Split, dialect: Dialect, *, is_text: bool
) -> Expression:
    value = column
    if is_text and kind == "integer" and dialect.name == "duckdb":
        value = exp.cast(value, "int128")  # as wide as DuckDB's whole numbers are
    elif kind in {"real", "timestamp"} or (is_text and kind != "text"):
        value = exp.cast(value, _CASTS[kind])
    if kind in {"text", "uuid"}:
        value = dialect.text(column)
        value = exp.Lower(this=value) if kind == "uuid" else value  # a text in some warehouses
    if not split.is_category:
        return exp.LTE(this=value, expression=_constant(split.most, kind))
    listed = [_constant(v, kind) for v in split.values if v is not None]
    is_missing = exp.Is(this=column.copy(), expression=exp.null())
    if not listed:
        return is_missing
    found = dialect.among(value, listed)
    return exp.or_(is_missing, found) if None in split.values else found


def _constant(value: Any, kind: str) -> Expression:
    if kind == "integer":
        return number(int(value))
    if kind == "real":
        return exp.cast(number(float(value)), "double")
    if kind == "boolean":
        return exp.true() if value else exp.false()
    text = exp.Literal.string(str(value))
    return exp.cast(text, _CASTS[kind]) if kind in {"date", "timestamp"} else text


def _numeric(value: Expression, *, exact: bool) -> Expression:
    return value if exact else exp.cast(value, "double")


def _missing(value: Expression, exact: bool, dialect: Dialect) -> Expression:
    null = value.is_(exp.null())
    return null if exact else exp.or_(null, dialect.is_nan(value.copy()))


def _literal(value: float, *, exact: bool) -> Expression:
    return number(value) if exact else exp.cast(number(value), "double")


def _edges(value: Expression, column: Column, bins: Edges, dialect: Dialect) -> Expression:
    exact = column.kind == "integer" and all(isinstance(edge, int) for edge in bins.edges)
    value = _numeric(value, exact=exact)
    case = exp.case().when(_missing(value, exact, dialect), exp.null())
    for edge, label in zip(bins.edges, bins.labels, strict=False):
        case = case.when(value < _literal(edge, exact=exact), exp.Literal.string(label))
    return case.else_(exp.Literal.string(bins.labels[-1]))


def _width(value: Expression, column: Column, bins: Width, dialect: Dialect) -> Expression:
    width, parts = bins.ratio
    if column.kind == "integer" and parts == 1:
        # Rounded down on both sides of zero: engines' divisions round towards it.
        above = dialect.divide(value.copy(), width)
        negative = exp.paren(exp.Neg(this=exp.paren(value.copy() + number(1))))
        below = number(-1) - exp.paren(dialect.divide(negative, width))
        return dialect.text(exp.case().when(value < 0, below).else_(above))
    value = exp.cast(value, "double")
    by, times, far, near = (_literal(float(one), exact=False) for one in (width, parts, FAR, -FAR))
    product = exp.paren(dialect.bounded(value) * times)
    index = exp.Floor(this=exp.Div(this=product, expression=by, typed=True))
    return (
        exp.case()
        .when(_missing(value, exact=False, dialect=dialect), exp.null())
        .when(index < near, exp.Literal.string("<"))
        .when(index >= far, exp.Literal.string(">"))
        .else_(exp.cast(exp.cast(index.copy(), "bigint"), "text"))
    )


def _date_bins(day: Expression, bins: DateBins, dialect: Dialect) -> Expression:
    case = exp.case().when(day.is_(exp.null()), exp.null())
    if isinstance(bins, DateEdges):
        for edge, label in zip(bins.edges, bins.labels, strict=False):
            case = case.when(day < _day(edge), exp.Literal.string(label))
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
        case.when(day < _day(str(FIRST)), exp.Literal.string("<"))
        .when(day > _day(str(LAST)), exp.Literal.string(">"))
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


def sample(
    columns: Sequence[str],
    symbols: Sequence[Column],
    table: Expression,
    dialect: Dialect,
    most: int | None,
    *,
    is_random: bool = False,
) -> exp.Select:
    """Return columns and symbols of all rows, or of so many: by a hash of values, or at random."""
    values = [named(name) for name in columns]
    texts = (symbol(column, dialect).as_(f"c{k}") for k, column in enumerate(symbols))
    query = exp.select(*values, *texts).from_(table.copy())
    if most is None:
        return query
    by = exp.Rand() if is_random else dialect.hashed([value.copy() for value in values])
    return query.order_by(by).limit(most)


def group_means(
    groups: Sequence[Column],
    means: Sequence[str],
    table: Expression,
    dialect: Dialect,
    most: int,
) -> exp.Select:
    """Count the rows of each group, and the values, their mean and variance of columns of numbers.

    Columns that have bins or a mean may be texts, as in a CSV that was published.
    """
    casts = {column.name: _CASTS[column.kind] for column in groups if column.bins is not None}
    texts = {column.name for column in groups if column.bins is None}
    own = [
        (exp.cast(named(name), casts[name]) if name in casts else named(name)).as_(
            name, quoted=True
        )
        for name in sorted(casts.keys() | texts)
    ]
    numbers = []
    for k, name in enumerate(means):
        value = exp.cast(named(name), "double")
        known = exp.case().when(_missing(value, False, dialect), exp.null()).else_(value.copy())
        numbers.append(known.as_(f"m{k}"))
    typed = exp.select(*own, *numbers, exp.Literal.number(1).as_("one_row")).from_(table.copy())
    keys = [symbol(column, dialect).as_(f"c{k}") for k, column in enumerate(groups)]
    places = [named(f"c{k}") for k in range(len(groups))]
    values = [named(f"m{k}") for k in range(len(means))]
    rows_of = exp.select(*keys, *(value.copy() for value in values), named("one_row"))
    found = exp.select(*places, exp.Count(this=exp.Star())).from_(
        rows_of.from_(typed.subquery("t")).subquery("v")
    )
    for mean in values:
        for function in (exp.Count, exp.Avg, exp.Variance):
            found = found.select(function(this=mean.copy()))
    if places:
        found = found.group_by(*(place.copy() for place in places))
    return found.limit(most + 1)


def different(columns: Sequence[str], table: Expression) -> exp.Select:
    """Count, for each column, its different values and the rows that have one."""
    counts = []
    for name in columns:
        counts.append(exp.Count(this=exp.Distinct(expressions=[named(name)])))
        counts.append(exp.Count(this=named(name)))
    return exp.select(*counts).from_(table.copy())


def unique_rows(columns: Sequence[str], table: Expression) -> exp.Select:
    """Count the rows that no other row equals in these columns; missing values are equal."""
    places = [f"c{k}" for k in range(len(columns))]
    keys = (named(name).as_(place) for name, place in zip(columns, places, strict=True))
    values = exp.select(*keys).from_(table.copy()).subquery("v")
    sizes = exp.select(exp.Count(this=exp.Star()).as_("n")).from_(values)
    sizes = sizes.group_by(*map(named, places))
    return rows(sizes.subquery("g")).where(named("n").eq(1))


def id_faults(column: str, table: Expression) -> exp.Select:
    """Count the rows, the rows with an id, and the different ids."""
    different = exp.Count(this=exp.Distinct(expressions=[named(column)]))
    return rows(table).select(exp.Count(this=named(column)), different)
