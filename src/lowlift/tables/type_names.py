"""Which types of each engine are columns of which kind."""

from collections.abc import Mapping

from lowlift.tables.outputs import INTEGER_TYPES

#: By the names of `typeof`, up to the first bracket.
DUCKDB_KINDS: Mapping[str, str] = {
    **dict.fromkeys(sorted(INTEGER_TYPES), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "real"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "UUID": "uuid",
}
#: By the names in `pg_type`; an enumeration is a text, too.
POSTGRES_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8", "numeric"), "real"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), "text"),
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "uuid": "uuid",
}
#: By the names of `typeof`, up to the first bracket.
SPARK_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "real"),
    **dict.fromkeys(("string", "varchar", "char"), "text"),
    "boolean": "boolean",
    "date": "date",
    "timestamp_ntz": "timestamp",
}
