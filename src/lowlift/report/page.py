"""The page: one HTML file that stands alone."""

from lowlift.figures.page import render
from lowlift.report.report import Report

__all__ = ["page"]


def page(report: Report, *, is_public: bool = False) -> str:
    """Return a report as one HTML page without anything from outside.

    Parameters
    ----------
    report
        The facts.
    is_public
        Whether to leave out everything of S by X, counts and the input's hash; see
        `Report.public`.

    Raises
    ------
    MissingExtra
        Without matplotlib or jinja2.
    """
    facts = report.public if is_public else report
    return render("lowlift.report", "report.html", report=facts, is_public=is_public)
