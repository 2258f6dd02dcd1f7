"""What jobs do, each in a process of its own: call the workflow, and draw what it gives."""

import os
import signal
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lowlift import workflow
from lowlift._exposure import rare_in
from lowlift._files import write_text
from lowlift._guarantees import stopped_note
from lowlift._joint import Joint
from lowlift._kernels.compilation import observe, prepare
from lowlift._ledger import EVERYBODY, default_ledger
from lowlift.codebook import is_by_blocks
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, Infeasible
from lowlift.report import page
from lowlift.report.outcome import CANNOT, Outcome, outcome_of
from lowlift.tables import open_table
from lowlift.tables.classes import notes_on_sensitive
from lowlift.tables.schema import OF_CELLS
from lowlift.web.jobs import Tell
from lowlift.web.settings import Setting
from lowlift.web.words import message_of, redacted
from lowlift.workflow import Asked, Design, Options, Recording, Sanitized, TableProfile
from lowlift.workflow.applying import formulas_in
from lowlift.workflow.consulting import Consulted, Sum, consult, sums
from lowlift.workflow.overview import Histogram, Overview, histogram_of, overview_of
from lowlift.workflow.preview import Preview, first_rows, preview
from lowlift.workflow.published import Recorded, published_of
from lowlift.workflow.stops import Stop, stops

#: How the files of the reports end, and by which keys they are downloaded.
REPORT, PUBLIC_REPORT = "report.html", "public.html"
_KEYS = {REPORT: "report", PUBLIC_REPORT: "public-report"}
#: How a warning begins that tells of counts in a rounded codebook.
_EXPOSED = "intervals"
#: Steps to which a codebook may be rounded, the finest first.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
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

    @property
    def state(self) -> str:
        """One of the states of `lowlift.report.outcome`."""
        return CANNOT if self.said is None else self.said.state

    @property
    def shown(self) -> str:
        """The state as it is shown; see `Outcome.shown`."""
        return CANNOT if self.said is None else self.said.shown

    @property
    def line(self) -> str:
        """The answer in a line."""
        if self.said is None:
            return self.refusal
        return f"{self.said.worst.value}: {self.said.worst.in_short}"


@dataclass(frozen=True)
class Wishes:
    """How a publication is asked for: who gets it, and how it is written."""

    to: str = EVERYBODY
    form: str = "csv"
    keep: tuple[str, ...] = ()
    #: The step of the codebook's probabilities; None writes them exactly.
    round_to: float | None = None
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
class Prepared:
    """What is to be known before a table is drawn."""

    consulted: Consulted
    #: How many values so few rows have that exact probabilities in the codebook expose them.
    rare: int
    #: Texts that a spreadsheet would run.
    formulas: tuple[str, ...]
    #: The finest step to which the codebook can be rounded so that it exposes nothing; None where
    #: none is coarse enough.
    step: float | None = None
    #: Whether values are drawn by weights that were fitted to the sensitive ones.
    is_fitted: bool = False
    #: What a published row can prove, in a sentence; empty where nothing.
    proves: str = ""


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
    #: How many warnings the report lists.
    n_warned: int = 0
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
    how: Any = {
        "mechanism": setting.mechanism,
        "encoding": setting.encoding or None,
        "preferred": setting.preferred_encoding,
        "time_limit": setting.seconds,
        "progress": lambda state: tell(tuple(state)),
        "first": lambda made: made.is_satisfied and tell(_answer(made)),
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
    return _answer(made)


def _answer(made: Design) -> Answer:
    joint = None if made.encoded.name in OF_CELLS else made.release.joint
    stopped = stopped_note(made.release.certificate, "") or ""
    return Answer(made, _said(made), joint, stopped=stopped)


def _said(made: Design) -> Outcome:
    sensitive = tuple(column.name for column in made.spec.sensitive)
    failing = tuple(name for name, audit in made.columns if not audit.is_satisfied)
    how: Any = {"is_satisfied": made.is_satisfied, "sensitive": sensitive, "failing": failing}
    return outcome_of(made.encoded, made.audit, **how)


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


def prepare_publication(
    source: Any, engine: str | None, made: Design, target: str, wishes: Wishes, tell: Tell
) -> Prepared:
    """Ask the ledger and look at what would be written; nothing is."""
    del tell
    rare, step, is_fitted = 0, None, False
    if made.encoded.name not in OF_CELLS:
        rare = len(rare_in(made.release.joint))
        step = next((each for each in _STEPS if rare and not _is_exposed(made, each)), None)
        is_fitted = not is_by_blocks(made.encoded.channel)
    proves = _said(made).proves
    with open_table(source, engine) as table:
        formulas = formulas_in(table, made.encoded, target)
    with open_table(source, engine) as table:
        consulted = consult(table, made.encoded, wishes.options())
    return Prepared(consulted, rare, formulas, step, is_fitted, proves)


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


def _is_exposed(made: Design, step: float) -> bool:
    """Return whether the codebook exposes counts although it is rounded to a step."""
    texts = workflow.codebook_of(made, step).warnings
    return any(text.startswith(_EXPOSED) for text in texts)


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
    n_warned = 0
    rows: tuple[tuple[str | None, ...], ...] = ()
    try:
        rows = first_rows(str(target))
        facts: Any = {"round_to": wishes.round_to, "recipient": wishes.to}
        report = workflow.report_of(written, output=target.name, **facts)
        if command:
            first = report.commands[0]._replace(value=command)
            report = replace(report, commands=(first, *report.commands[1:]))
        for name, is_public in ((REPORT, False), (PUBLIC_REPORT, True)):
            path = target.with_name(f"{target.stem}.{name}")
            write_text(path, page(report, is_public=is_public), is_private=not is_public)
            files[_KEYS[name]] = path
        warnings, n_warned = report.public.warnings, len(report.warnings)
    except Exception as error:  # noqa: BLE001 (the table is written, not to be drawn again)
        warnings = (f"there is no report: {redacted(error)}.",)
    return Published(written, files, warnings, wishes.to, command, rows, n_warned)
