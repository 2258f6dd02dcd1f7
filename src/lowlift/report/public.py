"""The public form of a report: what the codebook already says, and the promise.

It names the protected columns and shows the verdict and the budgets, what is not promised, the
channel as the codebook gives it (without probabilities when those were fitted to S: from them and
the bound P(s|x) can be worked out), and the published file's hash; beyond the codebook only the
names of the protected and the released columns, the mechanism and how rows were drawn.
Probabilities, and how much of X survives, are given no finer than `round_to`. It leaves out
everything that depends on S beyond the verdict (values of S, lifts, leakages, the best guess,
proven bounds, curves), every count, P(x), the name and hash of the input, who gets the table, and
the fingerprint of the channel, which would let a reader test guesses of its exact weights. Where
rows are published it has no channel, and nothing of how much of X survives.
"""

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lowlift._guarantees import promise_in_full
from lowlift._receipts import Receipt
from lowlift.codebook import Codebook, is_by_blocks
from lowlift.criteria import BuiltIn
from lowlift.encodings import Encoded
from lowlift.figures.page import Table
from lowlift.report.headings import title_of
from lowlift.report.limits import public_limits
from lowlift.report.notions import promised_notions
from lowlift.report.outcome import TOLD
from lowlift.report.outputs import public_channel_table
from lowlift.report.provenance import public_provenance
from lowlift.report.records import Limit, Number, Verdict
from lowlift.report.verdicts import verdict_of

if TYPE_CHECKING:
    from lowlift.report.report import Report


@dataclass(frozen=True)
class Public:
    """What may be published of a report: plain texts, so that nothing else can be reached.

    It answers as `Report` does; what it does not tell is not there.
    """

    title: str
    about: str
    heads: tuple[Number, ...]
    is_release: bool
    holds: bool
    verdict: Verdict
    promise: str
    limits: tuple[Limit, ...]
    words: Table
    utility: tuple[Number, ...]
    channel: Table | None
    provenance: tuple[Number, ...]
    adversary: str
    #: What became of the rows that were changed; empty where none was.
    changed: str = ""
    #: The published file, at the foot of a printed page: letters, digits, dots and dashes, or none.
    file: str = ""
    #: For whoever publishes; not on the page.
    warnings: tuple[str, ...] = ()
    salt: str = ""

    @property
    def public(self) -> "Public":
        """The same: it holds nothing that is not public."""
        return self


def public_of(report: "Report") -> Public:
    """Return the public form of a report."""
    criterion, encoded, step = report.raw.criterion, report.encoded, max(report.round_to, 0.01)
    book, words = None, ""
    utility: tuple[Number, ...] = ()
    # Of rows, neither the channel of cells nor what survives is public: both are made with S.
    if encoded is not None and not report.is_rows:
        if isinstance(criterion, BuiltIn):
            book = Codebook.of(encoded, round_to=step)
        shares = (min(1.0, encoded.nmi), encoded.share_changed)
        kept, changed = (f"about {_coarse(share, step)}" for share in shares)
        utility = (Number("Information kept (NMI)", kept, TOLD), Number("Rows changed", changed))
        words = _changed(encoded, changed)
    return Public(
        title_of(report, is_public=True),
        report.about,
        tuple(head for head in report.heads if head.name != "Recipient"),
        report.is_release,
        report.holds,
        verdict_of(report, is_public=True),
        promise_in_full(criterion, report.is_satisfied),
        public_limits(criterion, report.publication, is_rows=report.is_rows),
        promised_notions(criterion),
        utility,
        None if book is None else public_channel_table(book),
        public_provenance(report),
        report.adversary,
        words,
        _file(report.publication),
        _warnings(book),
    )


def _changed(encoded: Encoded, share: str) -> str:
    """Return what became of the rows that were changed, `share` of all."""
    if not encoded.share_changed:
        return ""
    some = "some" if share == "about 0%" else f"{share} of the"
    if encoded.name == "values":
        return (
            f"In {some} rows the published value is not the one in the table, and no row says "
            "which."
        )
    return f"In {some} rows the published value can stand for several values of the table."


def _file(publication: Receipt | None) -> str:
    """Return the name of the published file, if a style sheet can hold it whatever it says."""
    output = "" if publication is None else publication.output
    name = "" if "://" in output else output.rpartition("/")[2]
    return name if re.fullmatch(r"[A-Za-z0-9._-]{1,60}", name) else ""


def _warnings(book: Codebook | None) -> tuple[str, ...]:
    """Return what to know before the page is published; weights are not on it."""
    if book is None or book.channel is None or not is_by_blocks(book.channel):
        return ()
    return tuple(text for text in book.warnings if text.startswith("intervals"))


def _coarse(value: float, step: float) -> str:
    """Return a share to the nearest multiple of the step, in percent.

    Examples
    --------
    >>> _coarse(0.8951, 0.01), _coarse(0.8951, 0.05)
    ('90%', '90%')
    """
    return f"{100 * math.floor(value / step + 0.5) * step:.3g}%"
