"""An audit, a release or a trade-off as facts, and as one HTML page that stands alone.

`Report` has the facts and draws pictures when asked; `page` is the whole page, made of the macros
in ``templates/sections.html``, which other pages use too. `public` says what may be published.
"""

from lowlift.figures.page import Table
from lowlift.report.pages import page
from lowlift.report.public import Public
from lowlift.report.records import Beside, Limit, Number, Point, Verdict
from lowlift.report.report import Report

__all__ = [
    "Beside",
    "Limit",
    "Number",
    "Point",
    "Public",
    "Report",
    "Table",
    "Verdict",
    "page",
]
