"""Run in an environment that has lowlift, what it needs and one library of frames.

Usage: frame_lines.py pandas|polars|pyarrow|duckdb|pyspark
"""

import sys

import lowlift as ll

COLUMNS = ("age", "region", "disease")
ROWS = [
    (20 + i % 60, ("north", "south", "east")[i % 3], "ill" if (7 * i + i // 3) % 5 == 0 else "well")
    for i in range(600)
]


def frame_of(library):
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(ROWS, columns=COLUMNS)
    if library == "polars":
        import polars as pl

        return pl.DataFrame(ROWS, schema=list(COLUMNS), orient="row")
    if library == "pyarrow":
        import pyarrow as pa

        return pa.table(dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True)))
    if library == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.execute("CREATE TABLE people (age INT, region VARCHAR, disease VARCHAR)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
        return connection.table("people")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.bindAddress", "spark.driver.host"):
        builder = builder.config(name, "127.0.0.1")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    return session.createDataFrame(ROWS, "age int, region string, disease string")


def main(library):
    people, more_people = frame_of(library), frame_of(library)
    bound, bins = ll.LIP(0.5), {"age": "width:10"}
    safe = ll.sanitize(
        people, sensitive="disease", released=["age", "region"], bins=bins, criterion=bound
    )
    assert type(safe.table) is type(people)
    assert safe.audit is safe.release.audit
    assert safe.audit.is_satisfied
    assert safe.receipt.rows_out == len(ROWS)
    assert len(safe.codebook.labels) == 18
    assert safe.report().verdict.word == "The limit is kept"
    schema = ll.Schema("disease", ["age", "region"], bins=bins)
    joint = ll.read_joint(people, schema)
    release = ll.random_response(joint, bound)
    assert type(release.apply(more_people)) is type(people)
    record, key = {"age": 41, "region": "north"}, bytes(32)
    one = release.apply_one(record, id=17, key=key)
    assert one == release.apply_one(record, id=17, key=key)
    assert set(one) == {"age", "region"}
    as_is = ll.audit_table(
        people, sensitive="disease", released=["age", "region"], bins=bins, criterion=bound
    )
    assert not as_is.is_satisfied
    found = ll.verify(safe.release, against=people, published=safe.table, receipt=safe.receipt)
    assert found.is_ok, [check for check in found.checks if not check.is_ok]
    assert abs(sum(ll.estimate(safe.table, safe.codebook).estimate.p_x) - 1) < 1e-6
    sys.stdout.write(f"{library}: {ll.__file__}\n")


main(sys.argv[1])
