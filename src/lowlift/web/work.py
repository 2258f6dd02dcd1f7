"""What jobs do, each in a process of its own: call the workflow, and draw what it gives."""

import contextlib
import os
import signal
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lowlift import workflow
from lowlift._files import write_text
from lowlift._joint import Joint
from lowlift._kernels.compilation import observe, prepare
from lowlift._ledger import EVERYBODY, default_ledger
from lowlift._wording import joined
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, Infeasible
from lowlift.report import Beside, page
from lowlift.report.outcome import CANNOT, USEFUL, Outcome, outcome_of, stopped_words
from lowlift.tables import open_table
from lowlift.tables.classes import notes_on_sensitive
from lowlift.tables.schema import OF_CELLS
from lowlift.web.jobs import Tell
from lowlift.web.settings import Setting
from lowlift.web.words import IDENTIFIES, NAMES, TELLS, message_of, redacted
from lowlift.workflow import Asked, Design, Options, Recording, Sanitized, TableProfile
from lowlift.workflow.consulting import Sum, sums
from lowlift.workflow.overview import Histogram, Overview, histogram_of, overview_of
from lowlift.workflow.preview import Preview, first_rows, preview
from lowlift.workflow.published import Recorded, published_of
from lowlift.workflow.reporting import columns_that_tell
from lowlift.workflow.stops import Stop, stops

#: How the files of the reports end, and by which keys they are downloaded.
REPORT, PUBLIC_REPORT = "report.html", "public.html"
_KEYS = {REPORT: "report", PUBLIC_REPORT: "public-report"}
#: The parts that `compile_all` compiles.
KERNELS = ("merging", "partitions", "pairs", "search")
#: The process that imported this module: for jobs, the server that they were forked from.
_FORK_SERVER = os.getpid()


@dataclass(frozen=True, eq=False)
class Answer:
    """A design and what the page says of it first; or why nothing can be promised."""

    design: Design | None
    #: What is to be said of it; None where there is no design.
    said: Outcome | None
    #: The counts that it was made of, for other budgets; None for rows.
    joint: Joint | None = None
    #: Why there is no design.
    refusal: str = ""
    #: On a search that was stopped.
    stopped: str = ""
    #: Of rows that are published as rows: the columns among them that tell what is protected.
    tells: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """One of the states of `lowlift.report.outcome`."""
        return CANNOT if self.said is None else self.said.state

    @property
    def shown(self) -> str:
        """The state as it is shown (see `Outcome.shown`): for `USEFUL` also `NAMES` or `TELLS`."""
        shown = CANNOT if self.said is None else self.said.shown
        if shown != USEFUL:
            return shown
        return NAMES if self.identifies else TELLS if self.tells else shown

    @property
    def identifies(self) -> tuple[str, ...]:
        """What of it identifies people whatever the limit, a clause each."""
        warnings = () if self.design is None else self.design.warnings
        clauses = (text.partition(". ")[0] for text in warnings)
        return tuple(clause for clause in clauses if IDENTIFIES.match(clause))

    @property
    def line(self) -> str:
        """The answer in a line."""
        if self.said is None:
            return self.refusal
        if self.design is not None and self.state == CANNOT:
            parts = self.design.columns
            names = [name for name, part in parts if not part.is_satisfied]
            broken = joined(names or [column.name for column in self.design.spec.sensitive], "or")
            return f"Goes beyond your limit for {broken}"
        return f"{self.said.worst.value}: {self.said.worst.in_short}"


@dataclass(frozen=True)
class Wishes:
    """How a publication is asked for: who gets it, and how it is written."""

    to: str = EVERYBODY
    form: str = "csv"
    keep: tuple[str, ...] = ()
    #: The step of the codebook's probabilities; None writes them exactly.
    round_to: float | None = None
    #: Whether the codebook is among the files to keep.
    is_codebook_withheld: bool = False
    accept_unaudited: bool = False
    #: Releases that are no longer where they were written.
    earlier: tuple[Path, ...] = ()

    def options(self) -> Options:
        """Return them as the workflow takes them, with the ledger of whoever started the app."""
        ledger, recording = default_ledger(), None
        if ledger is not None:
            more: Any = {"releases": self.earlier, "accept_unaudited": self.accept_unaudited}
            recording = Recording(ledger, to=self.to, **more)
        return Options(keep=self.keep, recording=recording)


@dataclass(frozen=True, eq=False)
class Published:
    """What was written."""

    made: Sanitized
    files: dict[str, Path]
    #: What to know before codebook and public report are published.
    warnings: tuple[str, ...]
    to: str = EVERYBODY
    command: str = ""
    #: The first rows as written, with their columns first.
    rows: tuple[tuple[str | None, ...], ...] = ()
    #: The warnings that the report lists, each with its name, if it has one.
    warned: tuple[tuple[str, str], ...] = ()
    #: What is promised of it, in words.
    said: Outcome | None = None
    is_in_ledger: bool = False
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


def compile_all(tell: Tell) -> None:
    """Compile the kernels and signal the fork server to load them; steps are (done, of)."""
    try:
        with observe(lambda done, total: tell((done, total))):
            prepare(*KERNELS)
    finally:
        if os.getppid() == _FORK_SERVER:
            os.kill(_FORK_SERVER, signal.SIGUSR1)


def inspect(source: Any, engine: str | None, tell: Tell) -> Overview:
    """Return the rows and columns of a table."""
    del tell
    return overview_of(source, engine=engine)


def profile(
    source: Any,
    engine: str | None,
    sensitive: tuple[str, ...],
    bins: tuple[tuple[str, str], ...],
    tell: Tell,
) -> TableProfile:
    """Return what each column, in its bins if it has some, tells of the sensitive ones, alone."""
    del tell
    return workflow.profile_columns(
        source, sensitive, bins=dict(bins), engine=engine, is_alone=True
    )


def histogram(source: Any, engine: str | None, name: str, tell: Tell) -> Histogram:
    """Return how many rows a column has where."""
    del tell
    return histogram_of(source, name, engine=engine)


def ledger_version() -> int:
    """Return what changes when the ledger of whoever started the app does: -1 if it is off."""
    ledger = default_ledger()
    if ledger is None:
        return -1
    with contextlib.suppress(OSError):
        return ledger.stat().st_mtime_ns
    return 0  # the first publication makes it


def recorded(source: Any, engine: str | None, tell: Tell) -> tuple[Recorded, ...]:
    """Return what the ledger of whoever started the app has of a table, the newest first."""
    del tell
    ledger = default_ledger()
    return () if ledger is None else published_of(source, ledger, engine=engine)


def answer(
    source: Any,
    engine: str | None,
    joint: Joint | None,
    asked: Asked,
    setting: Setting,
    bound: Criterion,
    tell: Tell,
) -> Answer:
    """Design a release and say what it promises; from `joint` if the columns were counted.

    Where the best takes long, a first `Answer` that holds is told before it; for rows, the stages
    of `lowlift.workflow.cells` too.
    """
    told: list[tuple[str, ...]] = []

    def said_of(made: Design) -> Answer:
        # Columns that cannot be looked at are an error: no answer is green unseen.
        if made.encoded.name in OF_CELLS and not told:
            told.append(columns_that_tell(source, engine, made.spec.schema))
        return _answer(made, *told)

    how: Any = {
        "mechanism": setting.mechanism,
        "encoding": setting.encoding or None,
        "preferred": setting.preferred_encoding,
        "time_limit": setting.seconds,
        "progress": lambda state: tell(tuple(state)),
        "first": lambda made: made.is_satisfied and tell(said_of(made)),
    }
    try:
        if joint is None and asked.cells is None and setting.mechanism != "auto":
            joint, _ = workflow.count_table(source, asked, engine=engine)
        if joint is None:
            made = workflow.design(source, asked, bound, engine=engine, stage=tell, **how)
        else:
            origin = replace(joint.origin, encoding="")
            # A limit moved to a looser one must not lose information.
            made = workflow.design_counted(joint, origin, bound, is_monotone=True, **how)
            made = replace(made, notes=notes_on_sensitive(asked, joint))
    except (BoundViolated, Infeasible) as error:
        return Answer(None, None, joint, refusal=message_of(error))
    return said_of(made)


def _answer(made: Design, tells: tuple[str, ...] = ()) -> Answer:
    joint = None if made.encoded.name in OF_CELLS else made.release.joint
    stopped = stopped_words(made.release.certificate, is_advised=False)
    return Answer(made, said(made), joint, stopped=stopped, tells=tells)


def said(made: Design) -> Outcome:
    """Return what is to be said first of a design."""
    sensitive = tuple(column.name for column in made.spec.sensitive)
    failing = tuple(part for part in made.columns if not part[1].is_satisfied)
    how: Any = {"is_satisfied": made.is_satisfied, "sensitive": sensitive, "failing": failing}
    return outcome_of(made.encoded, made.audit, kept=made.kept, **how)


def rows(source: Any, engine: str | None, made: Design, page_number: int, tell: Tell) -> Preview:
    """Return eight rows of the table before and after."""
    del tell
    return preview(source, made, page_number, engine=engine)


def trade(
    source: Any,
    engine: str | None,
    asked: Asked,
    made: Design,
    setting: Setting,
    bounds: tuple[tuple[float, Criterion], ...],
    tell: Tell,
) -> tuple[Stop, ...]:
    """Return what each limit keeps; steps are the points found so far."""
    os.nice(10)  # the answer comes first
    how: Any = {"mechanism": setting.mechanism, "engine": engine, "tell": tell, "stage": tell}
    return tuple(stops(source, asked, made, bounds, **how))


def together(
    source: Any,
    engine: str | None,
    made: Design,
    recipients: tuple[str, ...],
    wishes: Wishes,
    tell: Tell,
) -> tuple[Sum, ...]:
    """Ask the ledger what recipients, and all others last, would hold with a design."""
    del tell
    with open_table(source, engine) as table:
        return sums(table, made, wishes.options(), recipients)


def beside(target: Path, name: str) -> Path:
    """Return where the report that ends in `name` is written, beside the table."""
    return target.with_name(f"{target.stem}.{name}")


def publish(
    source: Any,
    engine: str | None,
    made: Design,
    target: Path,
    wishes: Wishes,
    command: str,
    tell: Tell,
) -> Published:
    """Write the safe table with release, codebook, receipt and both reports.

    The ledger of whoever started the web app is asked and told.
    """
    written = workflow.publish(
        source,
        made,
        str(target),
        wishes.options(),
        round_to=wishes.round_to,
        engine=engine,
        progress=lambda done, total: tell((done, total)),
    )
    if made.encoded.name in OF_CELLS:  # which the report compares with their source
        written = replace(written, source=source, engine=engine)
    files = {"table": target, **written.files}
    warnings: tuple[str, ...] = ()
    warned: tuple[tuple[str, str], ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    try:
        rows = first_rows(str(target))
        public_page = f"{target.stem}.{PUBLIC_REPORT}"
        around = Beside(wishes.is_codebook_withheld, public_page)
        facts: Any = {"round_to": wishes.round_to, "recipient": wishes.to, "beside": around}
        report = workflow.report_of(written, output=target.name, **facts)
        if command:
            first = report.commands[0]._replace(value=command)
            report = replace(report, commands=(first, *report.commands[1:]))
        for name, is_public in ((REPORT, False), (PUBLIC_REPORT, True)):
            path = beside(target, name)
            write_text(path, page(report, is_public=is_public), is_private=not is_public)
            files[_KEYS[name]] = path
        warnings = report.public.warnings
        warned = tuple((each.name, each.text) for each in report.warnings)
    except Exception as error:  # noqa: BLE001 (the table is written, not to be drawn again)
        warnings = (f"there is no report: {redacted(error)}.",)
    is_in_ledger = wishes.options().recording is not None
    more = warned, said(made), is_in_ledger
    return Published(written, files, warnings, wishes.to, command, rows, *more)
