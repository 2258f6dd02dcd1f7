"""Imported by the server that jobs fork from, and by nothing else."""

# Where compiled code is kept is decided on import: before a job has temporary files of its own.
from lowlift.kernels import bounding, lp, merging, partitions, pricing
from lowlift.web import work
from lowlift.web.warm import load_when_told

__all__ = ["bounding", "lp", "merging", "partitions", "pricing", "work"]

load_when_told()
