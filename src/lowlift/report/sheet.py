"""What only the confidential page has: what is signed, which files to keep."""

from typing import TYPE_CHECKING, NamedTuple

from lowlift._receipts import receipt_path
from lowlift._rounding import percent_at_most
from lowlift._wording import cell, joined
from lowlift.confidence import lift_intervals
from lowlift.criteria import Population
from lowlift.report.beliefs import beliefs_of, worst_first
from lowlift.report.headings import MOST_NAMED, asked_of, people_of, recipient_of
from lowlift.report.lifts import s_names
from lowlift.report.outcome import named
from lowlift.report.records import Number
from lowlift.tables.sources import is_frame_name

if TYPE_CHECKING:
    from lowlift.report.report import Report

#: The lines of the sign-off, to be filled in.
FIELDS = (
    *("Purpose", "Legal basis", "Prepared by", "Review on"),
    *("Name", "Role", "Date", "Signature"),
)
_DIGITS = 16


class Sheet(NamedTuple):
    """Texts for the page; empty where there is nothing to say."""

    #: What publishing without protection would tell.
    unprotected: str
    #: That a value may be more common in the population.
    base: str
    signed: str
    files: tuple[Number, ...]
    fields: tuple[str, ...] = FIELDS


def sheet_of(report: "Report") -> Sheet:
    """Return what only the confidential page of a report has."""
    if report.is_curve:
        return Sheet("", "", "", ())
    return Sheet(_unprotected(report), _base(report), _signed(report), _files(report))


def _unprotected(report: "Report") -> str:
    """Return what the worst value would become if X were published as it is."""
    if not report.is_release:
        return ""
    found = [named(one, report.sensitive) for one in beliefs_of(report.raw)]
    worst = worst_first(found)[0]
    start, end = "Without protection", ""
    if report.is_rows:
        start = f"{start}, the kinds of rows alone would tell"
        end = "; rows themselves tell more" if worst.most < 1 else ""
    return f"{start}: {worst.value}, {worst.words}{end}."


def _base(report: "Report") -> str:
    """Return from which share the limit counts, where it is for a population."""
    criterion, subject = report.raw.criterion, report.subject
    if not isinstance(criterion, Population) or not report.beliefs:
        return ""
    highs = lift_intervals(subject.joint, subject.channel, criterion.confidence).p_s_high.tolist()
    name = report.beliefs[0].value
    high = dict(zip(s_names(report), highs, strict=True))[name]
    return (
        "In the population a value may be more common than in these rows "
        f"({name}: up to {percent_at_most(min(1.0, high))}), and the limit counts from there."
    )


def _signed(report: "Report") -> str:
    """Return what is signed, in a line."""
    what, publication = "", report.publication
    if publication is not None:
        digest = (publication.output_sha256 or "")[:_DIGITS]
        what = publication.output + (f" (SHA-256 {digest}…)" if digest else "")
    elif report.mark:
        what = f"release {report.mark}…"
    else:
        what = _unchanged(report)
    parts = [what, f"protected: {joined(report.sensitive)}"]
    parts.append(f"limit: {asked_of(report)}")
    if report.is_release:
        parts.append(f"recipient: {recipient_of(report)}")
    return f"This is about {'; '.join(filter(None, [*parts, people_of(report)]))}."


def _unchanged(report: "Report") -> str:
    """Return which columns of which table would be published as they are."""
    origin = report.origin
    if origin is None:
        return "X as it is"
    released = origin.schema.released
    names = joined(released) if len(released) <= MOST_NAMED else f"{len(released)} columns"
    a = "a " if is_frame_name(origin.source) else ""
    return f"{names} of {a}{cell(origin.source)}, published without a change"


def _files(report: "Report") -> tuple[Number, ...]:
    """Return which files to hand out and which to keep."""
    publication = report.publication
    if publication is None or is_frame_name(publication.output):
        return ()
    receipt = receipt_path(publication.output).name
    stem = receipt.removesuffix(".receipt.json")
    handed, kept = [publication.output], [f"{stem}.release.json", receipt, "this page"]
    if report.verified:  # written by one command, which writes the codebook too
        is_withheld = report.beside.is_codebook_withheld
        (kept if is_withheld else handed).append(f"{stem}.codebook.json")
    handed += filter(None, [report.beside.public_page])
    kept_back = ". The codebook was kept back" if report.beside.is_codebook_withheld else ""
    return (
        Number("Hand out", joined(handed)),
        Number("Keep with the data", f"{joined(kept)}{kept_back}"),
    )
