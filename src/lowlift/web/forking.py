"""Imported by the server that jobs fork from, and by nothing else."""

from lowlift.web import work
from lowlift.web.warm import load_when_told

__all__ = ["work"]

load_when_told()
