"""A report as one HTML page that stands alone."""

from typing import Any

from lowlift.figures.page import render
from lowlift.report.glossary import glossary_of
from lowlift.report.report import Report
from lowlift.report.sheet import sheet_of


def page(report: Report, *, is_public: bool = False) -> str:
    """Return a report, or its public form, as one HTML page without anything from outside."""
    facts, sheet = (report.public, None) if is_public else (report, sheet_of(report))
    how: Any = {"report": facts, "is_public": is_public, "sheet": sheet}
    # Terms are explained where they are used: that is known once the page is there.
    terms = glossary_of(render("lowlift.report", "report.html", terms=(), **how))
    return render("lowlift.report", "report.html", terms=terms, **how)
