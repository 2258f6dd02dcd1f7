"""Tables for the tests of the table path: made from counts that a test knows, and read back."""

import csv
import hashlib
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

#: Counts of the disease (S) by the ward (X): no two alike, nor their sums.
DISEASES = ("asthma", "bronchitis", "cholera")
WARDS = ("east", "north", "south", "west")
COUNTS = ((1371, 412, 837, 594), (711, 1632, 478, 893), (197, 236, 1015, 319))
NAMES = ("pid", "disease", "ward", "year")
ROWS = sum(map(sum, COUNTS))


def rows_of(counts, s_values, x_values):
    """One (s, x) per counted row, sorted by s, then x: as files come."""
    return [
        (s, x)
        for s, row in zip(s_values, counts, strict=True)
        for x, amount in zip(x_values, row, strict=True)
        for _ in range(amount)
    ]


def write_csv(path, names, rows):
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return str(path)


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path)
    return str(path)


def write_people(path, counts=COUNTS):
    """The table of pid, disease, ward and a year that says nothing."""
    rows = rows_of(counts, DISEASES, WARDS)
    return write_csv(path, NAMES, [(f"p{k}", s, x, "2020") for k, (s, x) in enumerate(rows)])


def read_csv(path):
    """The header, and the rows as tuples of texts."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return head, [tuple(row) for row in rows]


def column_of(path, name):
    head, rows = read_csv(path)
    return [row[head.index(name)] for row in rows]


def counted(path, name):
    return Counter(column_of(path, name))


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())
