"""The public form of a report: what the codebook already says, and the promise.

It names the protected columns and shows the verdict and the budgets, what is not promised, the
channel as the codebook gives it (without probabilities when those were fitted to S: from them and
the bound P(s|x) can be worked out; nor when the codebook is withheld), and the published file's
hash; beyond the codebook only the names of the protected and the released columns, the mechanism
and how rows were drawn.
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

from lowlift._receipts import Receipt
from lowlift.codebook import Codebook, is_by_blocks
from lowlift.criteria import AtMost, BuiltIn, plain_criterion
from lowlift.encodings import Encoded
from lowlift.figures.page import Table
from lowlift.report.headings import heads, title_of
from lowlift.report.limits import public_limits
from lowlift.report.notions import promised_notions
from lowlift.report.outputs import AS_THEY_ARE, INFORMATION, public_channel_table, unit_of
from lowlift.report.provenance import public_provenance
from lowlift.report.records import Limit, Number, Verdict
from lowlift.report.verdicts import promise_sentence, verdict_of

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
    #: Whether the promise names a sensitive value, as asked for.
    names_values: bool = False
    #: For whoever publishes; not on the page.
    warnings: tuple[str, ...] = ()
    #: What is published: values, combinations of values, codes or groups.
    unit: str = "value"
    salt: str = ""

    @property
    def public(self) -> "Public":
        """The same: it holds nothing that is not public."""
        return self


def public_of(report: "Report") -> Public:
    """Return the public form of a report."""
    criterion, encoded, step = report.raw.criterion, report.encoded, max(report.round_to, 0.01)
    book, words, what = None, "", unit_of(report, is_published=True)
    is_withheld = report.beside.is_codebook_withheld
    utility: tuple[Number, ...] = ()
    # Of rows, neither the channel of cells nor what survives is public: both are made with S.
    if encoded is not None and not report.is_rows:
        if isinstance(criterion, BuiltIn):
            book = Codebook.of(encoded, round_to=step)
        shares = (1 - encoded.share_changed, min(1.0, encoded.nmi))
        names = AS_THEY_ARE, INFORMATION
        utility = tuple(
            Number(name, f"about {_coarse(share, step)}")
            for name, share in zip(names, shares, strict=True)
        )
        words = _changed(encoded, report.unit, what)
    return Public(
        title_of(report, is_public=True),
        report.about,
        heads(report, is_public=True),
        report.is_release,
        report.holds,
        verdict_of(report, is_public=True),
        promise_sentence(report, holds=report.is_satisfied),
        public_limits(criterion, report.publication, is_rows=report.is_rows),
        promised_notions(criterion, of_table=report.of_table),
        utility,
        None if book is None else public_channel_table(book, what, is_withheld=is_withheld),
        public_provenance(report),
        report.adversary,
        words,
        _file(report.publication),
        isinstance(plain_criterion(criterion), AtMost),
        () if is_withheld else _warnings(book),
        unit=what,
    )


def _changed(encoded: Encoded, unit: str, published: str) -> str:
    """Return what became of the rows that are not published as they are.

    `unit` is what was in the table, `published` what stands for it.
    """
    if not encoded.share_changed:
        return ""
    if encoded.name == "values":
        return (
            f"In the other rows the published {published} is not the one in the table, and no row "
            "says which."
        )
    return (
        f"In the other rows the published {published} can stand for several {unit}s of the table."
    )


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
