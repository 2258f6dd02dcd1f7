"""The questions we ask of a table engine: count a table, draw from it, write what may be published.

DuckDB reads files, its own databases and frames; PostgreSQL and Spark work where the data lives.
The only package that imports an engine or sqlglot, and only when a table is opened.
"""

from lowlift.tables.alias import AliasTable, alias_draw, uniform_of
from lowlift.tables.bins import Bins, Each, Edges, Quantiles, Width, parse_bins
from lowlift.tables.columns import Column
from lowlift.tables.counts import Counts
from lowlift.tables.date_bins import Calendar, DateEdges, Days
from lowlift.tables.draws import Draw
from lowlift.tables.joints import read_joint
from lowlift.tables.outputs import Applied, Output, OutputColumn
from lowlift.tables.schema import Origin, Schema, Spec
from lowlift.tables.staging import ReadBack, Staged, read_back
from lowlift.tables.table import Table, open_table

__all__ = [
    "AliasTable",
    "Applied",
    "Bins",
    "Calendar",
    "Column",
    "Counts",
    "DateEdges",
    "Days",
    "Draw",
    "Each",
    "Edges",
    "Origin",
    "Output",
    "OutputColumn",
    "Quantiles",
    "ReadBack",
    "Schema",
    "Spec",
    "Staged",
    "Table",
    "Width",
    "alias_draw",
    "open_table",
    "parse_bins",
    "read_back",
    "read_joint",
    "uniform_of",
]
