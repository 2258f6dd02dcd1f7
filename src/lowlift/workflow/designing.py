"""Audit a table's columns as they are; design a release of them."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lowlift._arguments import check_choice
from lowlift._audit import Audit, audit
from lowlift._cells.kept import ValuesKept
from lowlift._channel import Channel
from lowlift._guarantees import verdict_word
from lowlift._joint import Joint
from lowlift._logs import logged
from lowlift._release import Release, release_card
from lowlift.confidence import LiftIntervals, lift_intervals
from lowlift.criteria import Criterion, Population, criterion_on
from lowlift.encodings import ENCODINGS, Encoded, default_encoding, encode
from lowlift.errors import InvalidInput
from lowlift.measures import bayes_vulnerability
from lowlift.tables import Origin, Schema
from lowlift.tables.classes import notes_on_sensitive
from lowlift.workflow.cautions import cautions, sampled_bins
from lowlift.workflow.choices import Chosen, Progress, choose, released_by
from lowlift.workflow.columns import count_table, per_column

#: Mechanisms that search, and how many cells |S| |X| take them no time.
_SEARCHES, _FEW_CELLS = ("random-response", "subset-random-response"), 100
#: Merging at many budgets takes as long as some searches.
_MERGING = "subset-merging"


@dataclass(frozen=True, eq=False)
class TableAudit:
    """What publishing columns as they are would reveal."""

    audit: Audit
    #: The verdict on each sensitive column alone, when there are several.
    columns: tuple[tuple[str, Audit], ...]
    #: What the counts say against the columns.
    warnings: tuple[str, ...] = ()
    #: What was decided where nothing was asked for.
    notes: tuple[str, ...] = ()

    @cached_property
    def intervals(self) -> LiftIntervals:
        """What the lifts of the population may be, if the table is a sample: made when asked."""
        return lift_intervals(self.audit.joint, self.audit.channel)

    @property
    def is_satisfied(self) -> bool:
        """Whether the bound holds for S, and for each of its columns."""
        return all(part.is_satisfied for part in (self.audit, *dict(self.columns).values()))

    @property
    def spec(self) -> Origin:
        """The columns as they were found, and where."""
        found: Origin = self.audit.joint.origin
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Design(TableAudit):
    """A release of a table's columns, and how it was chosen; the audit is of what is published."""

    chosen: Chosen
    encoded: Encoded
    #: Columns that are not published as none was named: each with the reason.
    left_out: tuple[tuple[str, str], ...] = ()
    #: The columns as they were asked for, by which the design can be repeated.
    asked: Schema | None = None
    #: How many values of published rows stay as they are; None where no rows of cells are.
    kept: ValuesKept | None = None

    @property
    def release(self) -> Release:
        """The channel that is published."""
        return self.encoded.release

    @property
    def spec(self) -> Origin:
        """The columns as they were found, and where."""
        return self.encoded.origin

    def _repr_html_(self) -> str:
        """Return the release as a notebook shows it, judged for each sensitive column too."""
        return release_card(self.release, holds=self.is_satisfied)


def audit_table(
    source: Any, asked: Schema, criterion: Criterion, *, engine: str | None = None
) -> TableAudit:
    """Return the verdict on publishing the columns as they are.

    Guarantee
        Exact for the table as the population; `intervals` say what a sample supports.
    """
    found = audit_counted(*count_table(source, asked, engine=engine), criterion)
    return replace(found, notes=notes_on_sensitive(asked, found.audit.joint))


def audit_counted(joint: Joint, spec: Origin, criterion: Criterion) -> TableAudit:
    """Return the verdict on publishing counted columns as they are; see `count_table`."""
    joint, channel = joint.with_table(spec), Channel.identity(joint)
    criterion = criterion_on(criterion, joint)
    return TableAudit(
        audit(joint, channel, criterion),
        per_column(joint, channel, criterion, spec.sensitive),
        (
            *cautions(joint, spec.sensitive, spec.released),
            *sampled_bins(spec, criterion),
        ),
    )


def designed(made: Design) -> str:
    """Say what was designed, for the log."""
    release = made.release
    verdict = verdict_word(release.criterion, release.audit.is_certified, made.is_satisfied)
    return (
        f"{made.chosen.name} as {made.encoded.name}, |X| = {release.joint.n_x:,}, "
        f"|Y| = {release.channel.n_y:,}, NMI {release.audit.nmi:.4f}, {verdict.lower()}"
    )


@logged("design", designed)
def design_counted(
    joint: Joint,
    spec: Origin,
    criterion: Criterion,
    *,
    mechanism: str = "auto",
    encoding: str | None = None,
    preferred: str | None = None,
    time_limit: float = 60.0,
    progress: Progress | None = None,
    is_monotone: bool = False,
    first: Callable[["Design"], object] | None = None,
) -> Design:
    """Return a release of columns that were counted (see `count_table`) under the criterion.

    `preferred` is the encoding when none is asked for, unless the release has too many values for
    it. With `is_monotone`, merging takes the best of tighter budgets too, as "auto" does, so that
    a looser budget keeps no less. Where this or what "auto" chose may take long, `first` is given
    a design by merging once before it.
    """
    if encoding is not None:
        check_choice(encoding, "encoding", ENCODINGS)
    joint = joint.with_table(replace(spec, encoding=""))
    criterion = criterion_on(criterion, joint)
    chosen = choose(mechanism, joint, criterion)
    if first is not None and _takes_long(chosen, joint, criterion, is_monotone=is_monotone):
        quick: Any = {"mechanism": _MERGING, "encoding": encoding, "preferred": preferred}
        first(design_counted(joint, spec, criterion, **quick))
    chosen = replace(chosen, is_auto=chosen.is_auto or is_monotone)
    release = released_by(chosen, joint, criterion, time_limit=time_limit, progress=progress)
    encoded = _encoded(release, encoding or spec.encoding, preferred)
    if chosen.is_auto and release.certificate is not None and release.certificate.is_stopped:
        encoded = _of_merging(release, chosen, encoded)
    made = encoded.release.with_table(replace(spec, encoding=encoded.name))
    return Design(
        made.audit,
        per_column(joint, encoded.channel, criterion, spec.sensitive),
        (
            *cautions(joint, spec.sensitive, spec.released),
            *sampled_bins(spec, criterion),
        ),
        chosen=chosen,
        encoded=Encoded(encoded.name, made),
    )


def _takes_long(chosen: Chosen, joint: Joint, criterion: Criterion, *, is_monotone: bool) -> bool:
    """Tell whether merging once is much quicker than what was chosen."""
    if joint.n_x * joint.n_s <= _FEW_CELLS:
        return False
    if chosen.name == _MERGING:  # for the population it is done once anyway
        is_repeated = chosen.is_auto or is_monotone
        return is_repeated and not isinstance(criterion, Population)
    return chosen.is_auto and chosen.name in _SEARCHES


def _of_merging(release: Release, chosen: Chosen, encoded: Encoded) -> Encoded:
    """Return what merging publishes, with the same proof, if it tells more than what is given.

    Values that are drawn from the outputs of a search lose some of what the outputs tell; of a
    search that was stopped they can tell less than those of merging.
    """
    if encoded.nmi >= release.audit.nmi:
        return encoded
    merged = released_by(
        replace(chosen, name=_MERGING, is_auto=False), release.joint, release.criterion
    )
    proven = replace(merged, mechanism=release.mechanism, certificate=release.certificate)
    other = encode(proven, encoded.name)
    return other if other.nmi > encoded.nmi else encoded


def _encoded(release: Release, encoding: str, preferred: str | None) -> Encoded:
    if not encoding and preferred is not None:
        with contextlib.suppress(InvalidInput):
            return encode(release, preferred)
    return encode(release, encoding or default_encoding(release))


def guesses(joint: Joint, channel: Channel) -> tuple[float, float]:
    """Return how often the best guess of S is right, before and after seeing Y."""
    return float(joint.p_s.max()), bayes_vulnerability(joint, channel)
