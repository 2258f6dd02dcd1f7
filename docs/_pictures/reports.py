"""Pieces of a report, as the report draws them."""

from functools import cache

import lowlift as ll
from lowlift.report import Report
from lowlift.workflow import report_of


@cache
def _report() -> Report:
    release = ll.subset_merging(ll.datasets.titanic(), ll.ALIP(0.5, 0.5))
    return report_of(release, points=())


def before() -> str:
    """Draw the lifts of the Titanic's table as it is."""
    return f'<div class="on-white">{_report().lift_before_svg}</div>'


def after() -> str:
    """Draw the lifts of what is published."""
    return f'<div class="on-white">{_report().lift_after_svg}</div>'
