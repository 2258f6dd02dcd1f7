"""The comparison of `sanitize` with count and copy runs, and names each part of `sanitize`."""

import sanitize_and_copy


def test_every_kind_of_table_is_compared(capsys):
    sanitize_and_copy.main(rows=2000, rounds=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[::2]] == sorted(
        2 * ["Parquet", "CSV", "DuckDB"], key=["Parquet", "CSV", "DuckDB"].index
    )
    for part in ("count", "design", "draw", "shuffle, write", "read back, hash", "other"):
        assert all(f"{part} " in line for line in lines[1::2])
