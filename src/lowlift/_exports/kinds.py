"""The types of the columns that a statement reads: those that `apply` refuses are refused."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from lowlift.encodings import Encoded
from lowlift.tables.cells import CellBins
from lowlift.tables.dialects import Expression, call, number
from lowlift.tables.queries import named
from lowlift.tables.type_names import DUCKDB_KINDS, POSTGRES_KINDS, SPARK_KINDS

#: What an id may be; another type has another text for the same number, and so other draws.
_ID_KINDS = ("integer", "text", "uuid")


@dataclass(frozen=True)
class Types:
    """How a warehouse names the type of a column, and the kind of each name."""

    name_of: Callable[[Expression], Expression]
    kinds: Mapping[str, str]

    def names(self, kinds: Iterable[str]) -> list[str]:
        """Return the names of the types of some kinds; a UUID is a text where there are none."""
        known = set(self.kinds.values())
        wanted = {kind if kind in known else "text" for kind in kinds}
        return [name for name, kind in self.kinds.items() if kind in wanted]


def _before_bracket(column: Expression) -> Expression:
    return call("split_part", call("typeof", column), exp.Literal.string("("), number(1))


def _postgres_name(column: Expression) -> Expression:
    """Return the name in pg_type, that of the base type of a domain; an enumeration is a text."""
    kind, base = named("typtype", "p"), named("typname", "b")
    name = exp.cast(exp.Coalesce(this=base, expressions=[named("typname", "p")]), "text")
    text = exp.Literal.string("text")
    types = exp.table_("pg_type", db="pg_catalog", quoted=True)
    is_domain = kind.copy().eq(exp.Literal.string("d"))
    on = exp.and_(named("oid", "b").eq(named("typbasetype", "p")), is_domain)
    return (
        exp.select(exp.case().when(kind.eq(exp.Literal.string("e")), text).else_(name))
        .from_(exp.alias_(types, "p", table=True))
        .join(exp.alias_(types.copy(), "b", table=True), on=on, join_type="left")
        .where(named("oid", "p").eq(call("pg_typeof", column)))
        .subquery()
    )


DUCKDB_TYPES = Types(_before_bracket, DUCKDB_KINDS)
POSTGRES_TYPES = Types(_postgres_name, POSTGRES_KINDS)
SPARK_TYPES = Types(_before_bracket, SPARK_KINDS)


def kinds_read(encoded: Encoded) -> dict[str, str]:
    """Return the kind of each column of X."""
    found: dict[str, str] = {}
    for column in encoded.origin.released:
        if isinstance(column.bins, CellBins):
            kinds = column.bins.columns.items()
            found |= {name: kind for name, kind in kinds if name not in column.bins.texts}
        else:
            found[column.name] = column.kind
    return found


def type_names(names: Iterable[str], rows: exp.Select, types: Types) -> exp.Select:
    """Return the name of the type of each column, t0, t1, ...; `rows` has a row of them."""
    shown = (
        types.name_of(named(f"v{k}", "v")).as_(f"t{k}", quoted=True) for k, _ in enumerate(names)
    )
    return exp.select(*shown).from_(rows.subquery("v"))


def fault_of(kinds: Mapping[str, str], identity: str | None, types: Types) -> exp.Case:
    """Return what is wrong with the types t0, t1, ... of these columns and the id; else NULL."""
    case = exp.case()
    for k, (name, kind) in enumerate(kinds.items()):
        start = f"column {name!r} must be of kind {kind}, as at design; here its type is "
        end = ". Cast it, or design the release on this table."
        case = _when(case, named(f"t{k}"), types.names([kind]), start, end)
    if identity is not None:
        start = f"an id column must be integer, text or uuid; the type of {identity!r} is "
        wanted = types.names(_ID_KINDS)
        case = _when(case, named(f"t{len(kinds)}"), wanted, start, ". Cast it in a view.")
    return case


def _when(
    case: exp.Case, name: Expression, wanted: Iterable[str], start: str, end: str
) -> exp.Case:
    is_wanted = exp.In(this=name, expressions=list(map(exp.Literal.string, wanted)))
    said = exp.DPipe(this=exp.Literal.string(start), expression=name.copy())
    return case.when(
        exp.Not(this=is_wanted), exp.DPipe(this=said, expression=exp.Literal.string(end))
    )
