"""The former name of `lowlift.confidence`; it stays valid."""

from lowlift.confidence import (
    LiftIntervals,
    check_level,
    clopper_pearson,
    lift_intervals,
    smallest_sample,
)

__all__ = ["LiftIntervals", "check_level", "clopper_pearson", "lift_intervals", "smallest_sample"]
