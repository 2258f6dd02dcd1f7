"""``lowlift report``, and the reports that other commands write beside their work."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lowlift._cli import options as o
from lowlift._cli import output

if TYPE_CHECKING:
    from collections.abc import Callable

    from lowlift.report import Beside, Report


class Pages:
    """The reports that a command was asked to write; checked before long work starts.

    `others` are files that the command writes too, and `source` is its table: a report must be
    another file.
    """

    def __init__(self, asked: o.Output, *others: Path, source: str | None = None) -> None:
        from lowlift.errors import InvalidInput, MissingExtra
        from lowlift.workflow.sanitizing import refuse_existing

        self.full, self.public = asked.report, asked.report_public
        #: What to know before the public form is published.
        self.warnings: tuple[str, ...] = ()
        if not self.is_wanted:
            return
        if find_spec("jinja2") is None or find_spec("matplotlib") is None:
            raise MissingExtra("pip install 'lowlift[report]' to write reports.")
        refuse_existing(self.full, self.public, force=asked.force, source=source)
        pages = {path.resolve() for path in (self.full, self.public) if path is not None}
        if pages & {path.resolve() for path in others}:
            raise InvalidInput("outputs must differ from each other and from the table.")

    @property
    def is_wanted(self) -> bool:
        """Whether there is a page to write."""
        return self.full is not None or self.public is not None

    @property
    def beside(self) -> "Beside":
        """What is handed out beside a table: the public form, where one is written."""
        from lowlift.report import Beside

        return Beside(public_page="" if self.public is None else self.public.name)

    @property
    def data(self) -> dict[str, str]:
        """The files, for JSON."""
        names = ("report", self.full), ("report_public", self.public)
        return {name: str(path) for name, path in names if path is not None}

    def write(self, make: "Callable[[], Report]") -> None:
        """Make the report and write its pages, the confidential one for its owner's eyes only."""
        if not self.is_wanted:
            return
        from lowlift._files import write_text
        from lowlift.report import page

        made = make()
        if self.full is not None:
            write_text(self.full, page(made), is_private=True)
        if self.public is not None:
            write_text(self.public, page(made, is_public=True), is_private=False)
            self.warnings = made.public.warnings

    def every(self, *warnings: str) -> list[str]:
        """Return the warnings of a command and of its pages, each once."""
        return list(dict.fromkeys((*warnings, *self.warnings)))

    def say(self, *warnings: str) -> None:
        """Print what was written, and what to know before it is published."""
        from lowlift._cli import screens

        if self.full is not None:
            typer.echo(f"Wrote {self.full} (confidential).")
        if self.public is not None:
            typer.echo(f"Wrote {self.public} (public).")
        screens.warn(self.every(*warnings))


def report(
    release: o.ReleaseFile,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="For example: -o report.html")
    ] = Path("report.html"),
    receipt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What was published by it, e.g. safe.receipt.json."),
    ] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="The public form, for example for readers of safe.csv."),
    ] = False,
    curve: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The trade-off to show, from lowlift tradeoff, e.g. curve.csv."
        ),
    ] = None,
    round_to: Annotated[
        float | None,
        typer.Option(help="The step of probabilities in the public form, e.g. 0.05."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Of published rows: compare with it, e.g. people.csv."),
    ] = None,
    published: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="With --source: what was published, e.g. safe.csv."),
    ] = None,
    to: Annotated[str, typer.Option(metavar="NAME", help="Who gets it, e.g. --to institute.")] = "",
    force: o.Force = False,
) -> None:
    """Write a report on a release: one page that stands alone.

    It holds the lifts of S by X: confidential. With --public it leaves out everything of S by X,
    counts and the input's hash. Exit code 0: the bound holds; 1: it does not; 2: bad input.
    """
    from lowlift._release import Release
    from lowlift.errors import InvalidInput
    from lowlift.workflow import compare_tables, read_curve, read_receipt, report_of

    if (source is None) != (published is None):
        raise InvalidInput("--source and --published go together; one is missing.")
    read = [path for path in (release, receipt, curve) if path is not None]
    asked = o.Output(None if public else out, out if public else None, force)
    pages = Pages(asked, *read)
    found = Release.from_json(release)
    said = None if receipt is None else read_receipt(receipt)
    analysis = None
    if source is not None and not public:
        analysis = compare_tables(source, published, release=found)
    # The public form has no curve.
    points = () if public else None if curve is None else read_curve(curve)
    made = report_of(
        found,
        points=points,
        receipt=said,
        round_to=round_to,
        analysis=analysis,
        recipient=to,
    )
    if curve is not None:
        made = replace(made, curve_source=curve.name)
    pages.write(lambda: made)
    verdict = f"{made.verdict.word}. {made.verdict.sentence}"
    data = {"report": str(out), "is_public": public, "is_satisfied": made.holds, "verdict": verdict}

    def screen() -> None:
        typer.echo(verdict)
        pages.say()

    output.show(lambda: data | {"warnings": pages.warnings}, screen)
    raise typer.Exit(0 if made.holds else 1)
