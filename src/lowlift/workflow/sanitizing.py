"""Design, apply and verify in one; and what may be published about it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowlift._arguments import check_instance
from lowlift._audit import Audit
from lowlift._files import check_writable
from lowlift._receipts import Receipt, read_receipt, receipt_path
from lowlift._release import Release, release_card
from lowlift.codebook import Codebook
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables import Counts, Schema, Table, open_table
from lowlift.tables.columns import cells_in
from lowlift.tables.schema import OF_CELLS
from lowlift.workflow.applying import Options, drawn, formulas_in
from lowlift.workflow.checking import Verification, verify_written
from lowlift.workflow.choices import Progress
from lowlift.workflow.continuing import continue_design
from lowlift.workflow.designing import Design
from lowlift.workflow.rows import Method, design_table
from lowlift.workflow.transaction import Content, commit, drafts

if TYPE_CHECKING:
    from lowlift._cells.utility import Utility
    from lowlift.report import Report


@dataclass(frozen=True, eq=False)
class Sanitized:
    """What `sanitize` made: the safe table, how it was designed, and what was verified.

    Examples
    --------
    >>> import duckdb, lowlift as ll
    >>> people = duckdb.sql("select i % 3 as ward, i % 7 < 2 as ill from range(99) t(i)")
    >>> safe = ll.sanitize(people, sensitive="ill", released="ward", bins={"ward": "each"},
    ...                    criterion=ll.LIP(0.5))
    >>> safe.verification.is_ok, safe.table.columns
    (True, ['ward'])
    """

    design: Design
    receipt: Receipt
    verification: Verification
    #: The files that were written beside the table; none for a frame.
    files: dict[str, Path]
    #: What to know before the codebook is published.
    warnings: tuple[str, ...]
    #: What may be published about it: the channel and P(x|y), no value of S.
    codebook: Codebook
    #: The safe table: a frame of the kind that came in, or where it was written.
    table: Any = None
    #: The table that it was made from, and the engine that was asked for: for `utility`.
    source: Any = field(default=None, repr=False)
    engine: str | None = None
    #: Who gets it, where a ledger was told; else empty.
    recipient: str = ""
    #: The column of ids by which it was drawn with a key; else None.
    identity: str | None = None

    @property
    def release(self) -> Release:
        """The channel that was published, with the counts of S by X: confidential."""
        return self.design.release

    @property
    def audit(self) -> Audit:
        """The verdict on what was published."""
        return self.design.release.audit

    def report(self, **options: Any) -> "Report":
        """Return the report on it; the options are those of `lowlift.workflow.report_of`."""
        from lowlift.workflow.reporting import report_of

        return report_of(self, **options)

    def utility(self, *, attack: bool = False, task: str | None = None) -> "Utility":
        """Return what an analyst gets of published rows, compared with the source: confidential.

        Parameters
        ----------
        attack, task
            As for `lowlift.compare`.

        Raises
        ------
        InvalidInput
            When no rows were published, or the source is another than it was.
        """
        from lowlift.workflow.utility import compare_tables

        if self.design.encoded.name not in OF_CELLS:
            raise InvalidInput(
                "utility is told of published rows; this release publishes "
                f"{self.design.encoded.name}. Use cells, or lowlift.compare for any two tables."
            )
        how: Any = {"attack": attack, "task": task, "engine": self.engine}
        return compare_tables(self.source, self.table, release=self.release, **how)

    def _repr_html_(self) -> str:
        """Return what was published, as a notebook shows it."""
        rows = ("Rows published", f"{self.receipt.rows_out:,} of {self.receipt.rows_in:,}")
        is_kept = self.design.is_satisfied and self.verification.is_ok
        return release_card(self.design.release, [rows], holds=is_kept)


def codebook_of(made: Design, round_to: float | None = None) -> Codebook:
    """Return what may be published of a design: the channel and P(x|y), no value of S."""
    if made.spec.cells is not None:
        kinds = cells_in(made.spec.cells).columns.items()
        plain = [{"name": name, "kind": kind} for name, kind in kinds]
        return Codebook.of_rows(made.encoded, plain)
    columns = [
        {"name": column.name, "kind": column.kind, "texts": list(column.texts)}
        for column in made.encoded.columns
    ]
    return Codebook.of(made.encoded, columns, round_to=round_to)


def refuse_existing(*paths: Path | None, force: bool, source: Any = None) -> None:
    """Refuse files that exist, unless they may be overwritten, or that cannot be written.

    The table itself, or the same file twice, is refused in any case.
    """
    found = [path for path in paths if path is not None]
    for path in found:
        if path.exists() and not force:
            raise InvalidInput(f"{path.name} exists.", advice="overwrite")
        check_writable(path)
    places = [path.resolve() for path in found]
    if isinstance(source, str) and Path(source).exists():
        places.append(Path(source).resolve())
    if len(set(places)) < len(places):
        raise InvalidInput("outputs must differ from each other and from the table.")


def sanitize(
    source: Any,
    asked: Schema,
    criterion: Criterion,
    target: str | None = None,
    options: Options | None = None,
    *,
    mechanism: str = "auto",
    encoding: str | None = None,
    default: str | None = None,
    round_to: float | None = None,
    time_limit: float = 60.0,
    engine: str | None = None,
    continues: Release | None = None,
    design_progress: Progress | None = None,
    apply_progress: Callable[[int, int], object] | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> Sanitized:
    """Design a release of a table, publish by it, and verify what was written.

    Beside the output: its receipt, the release (confidential) and the codebook (public). Without a
    target the safe table is a frame of the kind that came in, and nothing is written. `warn` is
    told each of `Sanitized.warnings` before anything is drawn, those of the codebook only where it
    is written. `default` is the encoding of symbols when none is asked for. Keyed draws repeat
    those of the release that this one `continues`, wherever they can.

    Guarantee
        The table, the release, the codebook and the receipt are all there and verified, or none is.

    Cost
        The table is read once and its files are hashed once: by a count or, where rows are drawn
        one by one (a key, kept columns or a kept order), into a private copy. PostgreSQL copies
        nothing and reads such rows twice, three times with kept columns, once more for a view.
        Verifying reads the output.
    """
    options = Options() if options is None else options
    check_instance(options, Options, "options")
    if target is not None:
        refuse_existing(*files_beside(target).values(), force=options.force, source=source)
    method = Method(mechanism, encoding, time_limit, design_progress, default)
    with open_table(source, engine) as table:
        made, counts = design_table(table, asked, criterion, method, options)
        if continues is not None:
            made = continue_design(continues, made)
        safe = publish_table(
            table,
            made,
            target,
            options,
            counts=counts,
            round_to=round_to,
            progress=apply_progress,
            warn=warn,
        )
        is_rows = made.encoded.name in OF_CELLS  # which are compared with their source
        return replace(safe, source=source, engine=engine) if is_rows else safe


def publish(
    source: Any,
    made: Design,
    target: str,
    options: Options | None = None,
    *,
    round_to: float | None = None,
    engine: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Sanitized:
    """Publish a table by a design of it, and verify what was written.

    Beside the output: its receipt, the release (confidential) and the codebook (public); all of
    them and the table, or none.
    """
    options = options or Options()
    refuse_existing(*files_beside(target).values(), force=options.force, source=source)
    with open_table(source, engine) as table:
        return publish_table(table, made, target, options, round_to=round_to, progress=progress)


def publish_table(
    table: Table,
    made: Design,
    target: str | None,
    options: Options,
    *,
    counts: Counts | None = None,
    round_to: float | None = None,
    progress: Callable[[int, int], object] | None = None,
    warn: Callable[[str], object] = lambda _: None,
    check: Callable[[tuple[int, ...]], object] = lambda _: None,
) -> Sanitized:
    """Publish an open table by a design of it; see `sanitize`.

    `check` is called with how often each output was drawn, before anything is visible.
    """
    if not made.is_satisfied:
        raise BoundViolated(
            f"{made.chosen.name} does not satisfy {made.release.criterion} for each sensitive "
            "column alone; nothing was written. Use alip, ldp or alpha, which protect each of them."
        )
    book, files = codebook_of(made, round_to), {} if target is None else files_beside(target)
    if options.recording is not None:
        recording = replace(options.recording, release_file=files.get("release"))
        options = replace(options, recording=recording)
    formulas = () if target is None else formulas_in(table, made.encoded, target, options.id)
    warnings = (*made.warnings, *formulas, *book.warnings)
    for line in warnings if target is not None else made.warnings:
        warn(line)
    with (
        drawn(table, made.encoded, target, options, counts=counts, progress=progress) as (
            written,
            receipt,
        ),
        drafts(_contents(files, made, book, receipt)) as made_files,
    ):
        check(written.applied.counts)
        release, said = made.release, receipt
        if made_files:  # as they will be there, read from the disk
            release = Release.from_json(made_files[0].temporary)
            said = read_receipt(made_files[2].temporary)
        found = verify_written(
            release, said, written.found, counts, accept_unchecked=options.accept_unchecked
        )
        if not found.is_ok:
            failed = ", ".join(check.name for check in found.checks if not check.is_ok)
            raise BoundViolated(
                f"what was written failed its verification ({failed}); it was removed, and "
                "nothing is published."
            )
        commit(written, made_files, force=options.force)
        safe = written.frame if target is None else target
    to = "" if options.recording is None else options.recording.to
    how: Any = {"recipient": to, "identity": options.id}
    return Sanitized(made, receipt, found, files, warnings, book, safe, **how)


def _contents(
    files: dict[str, Path], made: Design, book: Codebook, receipt: Receipt
) -> list[Content]:
    """Return what is written beside a table; nothing beside a frame."""
    if not files:
        return []
    return [
        Content(files["release"], made.release.to_text(), is_private=True),
        Content(files["codebook"], book.to_text(), is_private=False),
        Content(files["receipt"], receipt.to_text(), is_private=True),
    ]


def files_beside(target: str) -> dict[str, Path]:
    """Return the files beside an output."""
    receipt = receipt_path(target)
    stem = receipt.name.removesuffix(".receipt.json")
    return {
        "release": receipt.with_name(f"{stem}.release.json"),
        "codebook": receipt.with_name(f"{stem}.codebook.json"),
        "receipt": receipt,
    }
