"""What jobs do, each in a process of its own: call the workflow, and draw what it gives."""

import hashlib
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lowlift import workflow
from lowlift._files import write_text
from lowlift._guarantees import MORE_TIME, stopped_note
from lowlift._joint import Joint
from lowlift._kernels.compilation import observe, prepare
from lowlift._ledger import EVERYBODY, default_ledger
from lowlift._wording import percent
from lowlift.criteria import Criterion
from lowlift.figures.page import render
from lowlift.report import Report, page
from lowlift.tables import open_table
from lowlift.tables.classes import notes_on_sensitive
from lowlift.tables.schema import OF_CELLS
from lowlift.web.jobs import Tell
from lowlift.web.settings import MOST_SECONDS, Setting
from lowlift.web.words import redacted
from lowlift.workflow import Asked, Design, Options, Point, Recording, Sanitized
from lowlift.workflow.applying import formulas_in
from lowlift.workflow.consulting import Consulted, consult
from lowlift.workflow.overview import Overview, overview_of
from lowlift.workflow.preview import first_rows

#: How the files of the reports end, and by which keys they are downloaded.
REPORT, PUBLIC_REPORT = "report.html", "public.html"
_KEYS = {REPORT: "report", PUBLIC_REPORT: "public-report"}
#: How a warning begins that tells of counts in a codebook.
_EXPOSED = ("exact probabilities", "intervals")
#: The parts that `compile_all` compiles.
KERNELS = ("merging", "partitions", "pairs", "search")
#: The process that imported this module: for jobs, the server that they were forked from.
_FORK_SERVER = os.getpid()
#: The share of the information that is "almost nothing".
_LITTLE = 0.02


@dataclass(frozen=True, eq=False)
class Answer:
    """A design, what it was counted from, and what the panel says of it.

    Parameters
    ----------
    design
        What was designed.
    joint
        The counts of S by X, from which another bound is answered; None where rows are published.
    state
        "useful", "empty" (the bound holds, and almost nothing is kept) or "cannot".
    line, html, words
        The answer in a line, in the panel, and the bound in other words.
    """

    design: Design
    joint: Joint | None
    state: str
    line: str
    html: str
    words: str


@dataclass(frozen=True, eq=False)
class Drawn:
    """A part of a page, and for a trade-off its points."""

    html: str
    points: tuple[Point, ...] = ()


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
    #: What exact probabilities in the codebook expose.
    exposed: tuple[str, ...]
    #: Texts that a spreadsheet would run.
    formulas: tuple[str, ...]


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


def compile_all(tell: Tell) -> None:
    """Compile the kernels and signal the fork server to load them; steps are (done, of, 0)."""
    try:
        with observe(lambda done, total: tell((done, total, 0))):
            prepare(*KERNELS)
    finally:
        if os.getppid() == _FORK_SERVER:
            os.kill(_FORK_SERVER, signal.SIGUSR1)


def inspect(source: Any, engine: str | None, tell: Tell) -> Overview:
    """Return the rows and columns of a table."""
    del tell
    return overview_of(source, engine=engine)


def _report(made: Design, setting: Setting, points: Any = ()) -> Report:
    """Return the report on a design; pages with several settings tell them apart by its salt."""
    salt = hashlib.sha256(setting.query.encode()).hexdigest()[:8]
    return replace(workflow.report_of(made, points=points), salt=f"s{salt}-")


def answer(
    source: Any,
    engine: str | None,
    joint: Joint | None,
    asked: Asked,
    setting: Setting,
    bound: Criterion,
    tell: Tell,
) -> Answer:
    """Design a release and say what it promises; from `joint` if the columns were counted."""
    how: Any = {
        "mechanism": setting.mechanism,
        "time_limit": setting.seconds,
        "progress": lambda state: tell(tuple(state)),
    }
    encoding = setting.encoding or None
    if joint is None and asked.cells is None and setting.mechanism != "auto":
        joint, _ = workflow.count_table(source, asked, engine=engine)
    if joint is None:
        how |= {"encoding": encoding, "default": setting.default_encoding}
        made = workflow.design(source, asked, bound, engine=engine, **how)
    else:
        origin, how["encoding"] = (
            replace(joint.origin, encoding=""),
            encoding or setting.default_encoding,
        )
        # A limit moved to a looser one must not lose information.
        made = workflow.design_counted(joint, origin, bound, is_monotone=True, **how)
        made = replace(made, notes=notes_on_sensitive(asked, joint))
    facts = {
        "report": _report(made, setting),
        "made": made,
        "kept": percent(made.encoded.nmi),
        "stopped": stopped_note(made.release.certificate, ""),
        "more_time": MORE_TIME,
        "setting": setting,
        "longer": replace(setting, seconds=min(3 * setting.seconds, MOST_SECONDS)),
    }
    state = (
        "cannot" if not made.is_satisfied else "useful" if made.encoded.nmi > _LITTLE else "empty"
    )
    line, html, words = (
        render("lowlift.web", f"answer/{name}.html", state=state, **facts)
        for name in ("line", "body", "words")
    )
    is_rows = made.encoded.name in OF_CELLS
    return Answer(made, None if is_rows else made.release.joint, state, line, html, words)


def pictures(made: Design, setting: Setting, tell: Tell) -> Drawn:
    """Draw lifts before and after, and the distribution of X."""
    del tell
    return Drawn(render("lowlift.web", "protection/pictures.html", report=_report(made, setting)))


def curve(made: Design, setting: Setting, points: tuple[Point, ...] | None, tell: Tell) -> Drawn:
    """Run the merging mechanisms over budgets, unless that was done, and mark this design."""
    del tell
    report = _report(made, setting, points)
    html = render("lowlift.web", "protection/curve.html", report=report)
    return Drawn(html, tuple(report.points))


def prepare_publication(
    source: Any, engine: str | None, made: Design, target: str, wishes: Wishes, tell: Tell
) -> Prepared:
    """Ask the ledger and look at what would be written; nothing is."""
    del tell
    exposed: tuple[str, ...] = ()
    if made.encoded.name not in OF_CELLS:
        texts = workflow.codebook_of(made).warnings
        exposed = tuple(text for text in texts if text.startswith(_EXPOSED))
    with open_table(source, engine) as table:
        formulas = formulas_in(table, made.encoded, target)
    with open_table(source, engine) as table:
        consulted = consult(table, made.encoded, wishes.options())
    return Prepared(consulted, exposed, formulas)


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
    files = {"table": target, **written.files}
    warnings: tuple[str, ...] = ()
    try:
        facts: Any = {"round_to": wishes.round_to, "recipient": wishes.to}
        report = workflow.report_of(written, output=target.name, **facts)
        if command:
            first = report.commands[0]._replace(value=command)
            report = replace(report, commands=(first, *report.commands[1:]))
        for name, is_public in ((REPORT, False), (PUBLIC_REPORT, True)):
            path = target.with_name(f"{target.stem}.{name}")
            write_text(path, page(report, is_public=is_public), is_private=not is_public)
            files[_KEYS[name]] = path
        warnings = report.public.warnings
    except Exception as error:  # noqa: BLE001 (the table is written, not to be drawn again)
        warnings = (f"there is no report: {redacted(error)}.",)
    rows = first_rows(str(target))
    return Published(written, files, warnings, wishes.to, command, rows)
