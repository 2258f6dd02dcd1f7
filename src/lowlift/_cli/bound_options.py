"""The options of a bound: the criterion, its budgets, and whom it is for."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

import typer

from lowlift._cli.options import Alpha

if TYPE_CHECKING:
    from lowlift.criteria import Criterion

Promise = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="table|population",
        help="Whom the bound is for: this table, whose rows are everybody; or the population that "
        "the rows are a random sample of. For example: --for population",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        help="With --for population: how sure the bound is, over samples, e.g. 0.99 (default 0.95)."
    ),
]


def promised(criterion: "Criterion", promise: str, confidence: float | None) -> "Criterion":
    """Return a criterion for this table, or for the population with a confidence."""
    from lowlift._arguments import check_choice
    from lowlift.criteria import Population
    from lowlift.errors import InvalidInput

    check_choice(promise, "--for", ("table", "population"))
    if promise == "table":
        if confidence is not None:
            raise InvalidInput("--confidence goes with --for population; the bound is for a table.")
        return criterion
    level = 0.95 if confidence is None else confidence
    return Population(criterion, level)  # type: ignore[arg-type]  # it checks its argument


@dataclass(frozen=True)
class Budgets:
    """A criterion and its budgets."""

    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="lip, alip, ldp, max-lift (pml), l1, chi2, alpha, every-prior, beta-likeness, "
            "delta-disclosure or t-closeness. For example: --criterion alip --lower 1 --upper 1",
        ),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(help="The budget in nats, divided by --split for two-sided criteria, e.g. 2."),
    ] = None
    split: Annotated[
        float | None,
        typer.Option(help="The lower side's share of --epsilon, e.g. 0.65 (default 0.5)."),
    ] = None
    lower: Annotated[
        float | None,
        typer.Option(
            help="No sensitive value becomes less than e**-LOWER times as likely, e.g. 1."
        ),
    ] = None
    upper: Annotated[
        float | None,
        typer.Option(help="No sensitive value becomes more than e**UPPER times as likely, e.g. 1."),
    ] = None
    alpha: Alpha = None
    at_least: Annotated[
        float | None,
        typer.Option(
            help="With --at-most 2, say, or --criterion every-prior: the bound holds for all "
            "readers who gave each sensitive value this probability or more before, e.g. 0.01."
        ),
    ] = None
    beta: Annotated[
        float | None,
        typer.Option(
            help="With --criterion beta-likeness: no sensitive value becomes more than 1 + BETA "
            "times as likely, e.g. 1."
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            help="With --criterion delta-disclosure: the logarithm of the change, up or down, is "
            "below this many nats, e.g. 0.5."
        ),
    ] = None
    t: Annotated[
        float | None,
        typer.Option(
            "--t",
            help="With --criterion t-closeness: at most this share of the belief moves (equal "
            "distance), e.g. 0.2.",
        ),
    ] = None
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR|COLUMN=VALUE:BELIEF",
            help="The bound in words, instead of --criterion: --at-most 2 (no sensitive value "
            "becomes more than 2 times as likely, nor less than half), --at-most "
            "'income=>50K:0.5' (no published row makes this value more likely than 50%), or both.",
        ),
    ] = None

    def plain(self, sensitive: list[str] | None) -> "Criterion":
        """Return the criterion for the columns of S; there is no default bound."""
        from lowlift.errors import InvalidInput
        from lowlift.workflow import criterion_of
        from lowlift.workflow.budgets import at_most_of

        if self.at_most:
            others = {k: v for k, v in self._numbers().items() if k != "at_least"}
            if self.criterion is not None or any(v is not None for v in others.values()):
                raise InvalidInput("name one bound: --at-most, or --criterion with its budgets.")
            return at_most_of(self.at_most, sensitive or [], self.at_least)
        if self.criterion is None:
            raise InvalidInput(
                "name a bound, for example --at-most 2 or --criterion alip --lower 1 --upper 1."
            )
        return criterion_of(self.criterion, **self._numbers())

    def _numbers(self) -> dict[str, float | None]:
        names = (field.name for field in fields(Budgets))
        return {name: getattr(self, name) for name in names if name not in {"criterion", "at_most"}}


@dataclass(frozen=True)
class Bound(Budgets):
    """A criterion, its budgets, and whom it is for."""

    promise: Promise = "table"
    confidence: Confidence = None

    def made(self, sensitive: list[str] | None) -> "Criterion":
        """Return the criterion for the columns of S, for this table or for the population."""
        return promised(self.plain(sensitive), self.promise, self.confidence)
