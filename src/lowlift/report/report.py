"""A release or an audit as facts: numbers, labels and sentences, and pictures drawn when asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from lowlift._audit import Audit, audit
from lowlift._cells.kept import ValuesKept
from lowlift._cells.utility import Utility
from lowlift._certificates import Certificate
from lowlift._channel import Channel
from lowlift._receipts import Receipt
from lowlift._wording import capital
from lowlift.confidence import LiftIntervals
from lowlift.criteria import Population
from lowlift.encodings import Encoded
from lowlift.errors import InvalidInput
from lowlift.figures import LegendEntry, bar_chart_svg, legend, panel_svg
from lowlift.figures.lifts import Shown
from lowlift.figures.page import Table
from lowlift.figures.tradeoffs import curve_panels
from lowlift.measures import bayes_vulnerability
from lowlift.report import headings, lifts, limits, outputs, rows, tradeoffs
from lowlift.report.beliefs import Belief, beliefs_of, worst_first
from lowlift.report.notions import notions
from lowlift.report.outcome import named, stopped_words
from lowlift.report.provenance import provenance_of
from lowlift.report.public import Public, public_of
from lowlift.report.reading import columns_read
from lowlift.report.records import Beside, Limit, Number, Point, Verdict
from lowlift.report.verdicts import curve_verdict, promise_sentence, verdict_of
from lowlift.tables import Origin
from lowlift.tables.schema import OF_CELLS


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a page says about an audit, a release or a trade-off.

    It holds P_SX and is confidential; `public` has what may be published. Nothing is drawn before
    it is asked for.

    Parameters
    ----------
    raw
        The audit of publishing X as it is.
    encoded
        What is published instead, audited; None for a report on X as it is.
    mechanism, reason
        How the release was made, and why so.
    certificate
        What is proven about the best mechanism.
    columns
        The audit of each sensitive column alone, of what the report is about.
    intervals
        What a sample supports.
    origin
        The table; None for joints that were given as arrays.
    publication
        The receipt, once something was published.
    points
        A trade-off curve.
    is_curve
        Whether the report is about the curve, not about one bound.
    round_to
        The step of all probabilities in the public form, 0.01 or more.
    made_at
        When, in words.
    curve_source
        The file that `points` were read from; empty when they were computed for this report.
    analysis
        What the analyst gets of published rows, compared with the source; never public.
    values_kept
        How many values of published rows stay as they are, where that is known; never public.
    recipient
        Who gets it.
    cautions, notes
        What to know before it is published, and what was decided where nothing was asked for.
    left_out
        Columns that are not published, each with the reason.
    commands
        What repeats and checks it.
    tells
        Columns of published rows that give a protected one away.
    verified
        How many checks of what was written hold.
    beside
        What is known of the files beside the published table.
    salt
        Makes the ids of sections and pictures differ from those of another report on a page.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[1, 3], [3, 1]])
    >>> raw = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(0.5))
    >>> Report(raw).verdict.word
    'The limit is not kept'
    """

    raw: Audit
    encoded: Encoded | None = None
    mechanism: str = ""
    reason: str = ""
    certificate: Certificate | None = None
    columns: tuple[tuple[str, Audit], ...] = ()
    intervals: LiftIntervals | None = None
    origin: Origin | None = None
    publication: Receipt | None = None
    points: Sequence[Point] = ()
    is_curve: bool = False
    round_to: float = 0.01
    made_at: str = field(default_factory=_now)
    curve_source: str = ""
    salt: str = ""
    analysis: Utility | None = None
    values_kept: ValuesKept | None = None
    recipient: str = ""
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    commands: tuple[Number, ...] = ()
    tells: tuple[str, ...] = ()
    verified: str = ""
    beside: Beside = field(default_factory=Beside)

    @classmethod
    def of_release(cls, encoded: Encoded, **facts: Any) -> "Report":
        """Return the report on what is published; X as it is is audited for comparison."""
        joint, criterion = encoded.release.joint, encoded.release.criterion
        return cls(audit(joint, Channel.identity(joint), criterion), encoded, **facts)

    def __repr__(self) -> str:
        return f"<Report: {self.verdict.word}>"

    @property
    def published(self) -> Audit | None:
        """The audit of what is published instead of X; None without a release."""
        return None if self.encoded is None else self.encoded.release.audit

    @property
    def subject(self) -> Audit:
        """The audit of what the report is about."""
        return self.published or self.raw

    @property
    def is_release(self) -> bool:
        """Whether the report is about a release."""
        return self.encoded is not None

    @property
    def is_rows(self) -> bool:
        """Whether rows are published, drawn inside cells."""
        return self.encoded is not None and self.encoded.name in OF_CELLS

    @property
    def of_table(self) -> bool:
        """Whether it is on a table, so that what others see is a row of it."""
        return self.origin is not None

    @property
    def unit(self) -> str:
        """What a symbol of X is: a value, a combination of values of several columns, or a cell."""
        return outputs.unit_of(self)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the protected columns."""
        return tuple(one.name for one in self.origin.sensitive) if self.origin else ("S",)

    @property
    def uncovered(self) -> str:
        """Why the bound does not cover all that was published; empty when it does."""
        return "" if self.publication is None else self.publication.uncovered

    @cached_property
    def holds(self) -> bool:
        """Whether `is_satisfied`, and the bound covers all that was published."""
        return self.is_satisfied and not self.uncovered

    @cached_property
    def is_satisfied(self) -> bool:
        """Whether every exact audit holds: of what is published, and of each protected column."""
        parts = (self.subject, *(part for _, part in self.columns))
        return all(part.is_certified and part.is_satisfied for part in parts)

    @property
    def kind(self) -> str:
        """What kind of report it is: a release, a trade-off or an audit."""
        return "Release" if self.is_release else "Trade-off" if self.is_curve else "Audit"

    @property
    def title(self) -> str:
        """The protected columns, the table and the promise."""
        return headings.title_of(self)

    @property
    def mark(self) -> str:
        """The start of the release's fingerprint, on every printed page: hexadecimal digits."""
        return "" if self.encoded is None else self.encoded.release.fingerprint[:16]

    @property
    def population(self) -> bool:
        """Whether the promise is for the population that the rows are a sample of."""
        return isinstance(self.raw.criterion, Population)

    @property
    def about(self) -> str:
        """What the report is on, in a line."""
        return headings.about(self)

    @property
    def heads(self) -> tuple[Number, ...]:
        """For whom the promise is, to whom the table goes, and when it was made."""
        return headings.heads(self)

    @cached_property
    def public(self) -> Public:
        """The form that may be published: nothing of S by X, no counts, no hash of the input.

        Raises
        ------
        InvalidInput
            For a trade-off, of which every point tells of S by X.
        """
        if self.is_curve:
            raise InvalidInput("a trade-off has no public form: every point tells of S by X.")
        return public_of(self)

    @property
    def guesses(self) -> tuple[float, float]:
        """How often the best guess of S is right, before and after seeing what is published."""
        joint = self.raw.joint
        return float(joint.p_s.max()), bayes_vulnerability(joint, self.subject.channel)

    @property
    def upper_bound(self) -> float | None:
        """What is proven that no mechanism keeps more than; None when nothing is."""
        proven = self.certificate
        return None if proven is None or proven.scope != "mechanisms" else proven.upper_bound

    @property
    def stopped_note(self) -> str | None:
        """That a search was stopped; None when it ended by itself."""
        return stopped_words(self.certificate) or None

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict in a word and a sentence."""
        return curve_verdict(self) if self.is_curve else verdict_of(self)

    @property
    def promise(self) -> str:
        """What is promised; empty for a trade-off, which has many bounds."""
        return "" if self.is_curve else promise_sentence(self, holds=self.holds)

    @property
    def adversary(self) -> str:
        """The reader against whom the promise holds."""
        return limits.adversary(self.publication)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """What is not promised."""
        return limits.limits_of(self)

    @cached_property
    def warnings(self) -> tuple[Limit, ...]:
        """What to know of this very release before it is published."""
        found = [limit for limit in self.limits if limit.is_warning]
        texts = (capital(limits.without_options(text)) for text in self.cautions)
        return (*found, *(Limit("", text, True) for text in texts))

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """What others can believe of one person, those that can grow most first."""
        if self.is_curve:
            return ()
        found = [named(one, self.sensitive) for one in beliefs_of(self.subject)]
        return tuple(worst_first(found))

    @cached_property
    def columns_read(self) -> Table | None:
        """What each column is for, and how its values are told apart."""
        return columns_read(self)

    @cached_property
    def words(self) -> Table | None:
        """The bound in the words of other notions, measured; None for a trade-off."""
        how: Any = {"is_rows": self.is_rows, "of_table": self.of_table}
        return None if self.is_curve else notions(self.raw, self.published, **how)

    @cached_property
    def riskiest(self) -> Table:
        """The riskiest values, and what became of them."""
        return lifts.riskiest_of(self)

    @cached_property
    def utility(self) -> tuple[Number, ...]:
        """How much of X is kept."""
        return outputs.kept(self)

    @property
    def kept_by_column(self) -> str:
        """How many rows keep their value of each column, in words; empty where not known."""
        return outputs.kept_by_column(self)

    @cached_property
    def utility_in_full(self) -> tuple[Number, ...]:
        """More of what is kept of published rows, for the annex."""
        return rows.in_full(self.analysis, self.encoded) if self.is_rows and self.encoded else ()

    @cached_property
    def channel(self) -> Table | None:
        """What each published value stands for."""
        return None if self.encoded is None else outputs.channel_table(self, lifts.names(self))

    @cached_property
    def columns_compared(self) -> Table | None:
        """The published columns beside those of the source; None where they were not compared."""
        return None if self.analysis is None else rows.columns_table(self.analysis)

    @cached_property
    def unique_rows(self) -> tuple[Number, ...]:
        """Unique rows before and after; empty where the tables were not compared."""
        return () if self.analysis is None else rows.unique_rows(self.analysis)

    @cached_property
    def provenance(self) -> tuple[Number, ...]:
        """Parameters, versions, time, hashes, draws."""
        return provenance_of(self)

    @cached_property
    def shown_before(self) -> Shown:
        """The lifts of X as it is that are drawn."""
        return lifts.shown_before(self)

    @cached_property
    def shown_after(self) -> Shown | None:
        """The lifts of what is published that are drawn."""
        return lifts.shown_after(self)

    @cached_property
    def lift_before_svg(self) -> str:
        """The log-lifts of S by X, as a picture."""
        what = lifts.symbols_of(self)
        return lifts.heat_map(self, self.shown_before, "Lift of S by X as it is", what)

    @cached_property
    def lift_after_svg(self) -> str | None:
        """The log-lifts of S by Y, as a picture; None without a release."""
        if self.shown_after is None:
            return None
        what = "published cells" if self.is_rows else "published"
        return lifts.heat_map(self, self.shown_after, "Lift of S by what is published", what)

    @cached_property
    def shares_before_svg(self) -> str:
        """P(x), and how much of it is published as it is, as bars."""
        return self._bars(0, "Shares of the values before")

    @cached_property
    def shares_after_svg(self) -> str | None:
        """P(y) as bars; None without a release."""
        if self.encoded is None:
            return None
        return self._bars(1, "Shares of the published values after")

    def _bars(self, side: int, title: str) -> str:
        shares = outputs.shares_of(self.raw, self.encoded)[side]
        return bar_chart_svg(**shares._asdict(), title=title, salt=self.salt)

    @cached_property
    def curve_svgs(self) -> tuple[str, ...]:
        """Utility and leakages over the budget, this release marked; empty without points."""
        panels = curve_panels(self.points, tradeoffs.mark_of(self)) if self.points else []
        return tuple(
            panel_svg(panel, width=3.9, height=3.0, salt=f"{self.salt}curve-{k}")
            for k, panel in enumerate(panels)
        )

    @cached_property
    def curve_legend(self) -> tuple[LegendEntry, ...]:
        """The labels of the curve, each with its swatch."""
        if not self.points:
            return ()
        return tuple(legend(curve_panels(self.points, tradeoffs.mark_of(self))))

    @cached_property
    def mechanisms(self) -> Table | None:
        """The mechanisms side by side; None without points."""
        return tradeoffs.side_by_side(self.points, tradeoffs.mark_of(self)) if self.points else None
