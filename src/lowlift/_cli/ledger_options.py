"""The options by which commands that publish ask and tell a ledger."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lowlift.criteria import Criterion
    from lowlift.workflow import Recording

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The ledger of what was published (default: LOWLIFT_LEDGER, or ledger.sqlite in "
        "your data folder), e.g. ledger.sqlite.",
    ),
]


@dataclass(frozen=True)
class Ledgered:
    """Which ledger is asked and told, and what it cannot know by itself."""

    ledger: LedgerFile = None
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Neither ask nor tell a ledger.")
    ] = False
    to: Annotated[str, typer.Option(metavar="NAME", help="Who gets it, e.g. --to institute.")] = (
        "everybody"
    )
    people: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose rows these are, where another table is of the same people, e.g. --people "
            "members.",
        ),
    ] = None
    total: Annotated[
        float | None,
        typer.Option(
            help="The budget in nats, as --epsilon, of all that a recipient holds of these people; "
            "by default that of this release, e.g. 2."
        ),
    ] = None
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="An earlier release that is no longer where it was written, e.g. --earlier "
            "old/safe.release.json.",
        ),
    ] = None
    accept_unaudited: Annotated[
        bool,
        typer.Option(
            "--accept-unaudited",
            help="Publish although it cannot be audited with earlier publications; recorded.",
        ),
    ] = False

    def recording(
        self, criterion: "Criterion", release_file: Path | None = None
    ) -> "Recording | None":
        """Return it as the workflow takes it; None when the ledger is off."""
        from lowlift._ledger import default_ledger
        from lowlift.errors import InvalidInput
        from lowlift.workflow import Recording
        from lowlift.workflow.budgets import total_of

        if self.no_ledger and self.ledger is not None:
            raise InvalidInput("give --ledger or --no-ledger, not both.")
        path = default_ledger() if self.ledger is None else self.ledger
        if self.no_ledger or path is None:
            return None
        total = None if self.total is None else total_of(criterion, self.total)
        more = tuple(self.earlier or ()), release_file, self.accept_unaudited
        return Recording(path, self.people, self.to, total, *more)
