"""The commands that repeat a publication and check it, as texts for a shell."""

import math
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction

from lowlift._ledger import EVERYBODY
from lowlift._receipts import Receipt
from lowlift.criteria import (
    ALIP,
    LDP,
    LIP,
    AlphaLift,
    AtMost,
    BuiltIn,
    Chi2Lift,
    Criterion,
    EveryPrior,
    L1Lift,
    MaxLift,
    Population,
    plain_criterion,
)
from lowlift.tables import Schema
from lowlift.tables.bins import bins_text
from lowlift.tables.schema import COLUMNS, ROWS
from lowlift.workflow.criteria import NAMED
from lowlift.workflow.sanitizing import files_beside

_NAMES = {
    ALIP: "alip",
    L1Lift: "l1",
    Chi2Lift: "chi2",
    AlphaLift: "alpha",
    EveryPrior: "every-prior",
}
_NAMED: Mapping[type[Criterion], tuple[str, str]] = {
    kind: (name, bound) for name, (bound, kind) in NAMED.items()
}
#: Letters of a line, about.
_LINE = 88
#: Digits of a factor that is tried as the bound in words.
_DIGITS = 12


def sanitize_command(
    asked: Schema,
    criterion: Criterion,
    source: str,
    target: str,
    *,
    mechanism: str = "auto",
    encoding: str | None = None,
    to: str = "",
    keep: Sequence[str] = (),
    round_to: float | None = None,
    time_limit: float = 60.0,
    identity: str | None = None,
    report: str = "",
    public_report: str = "",
) -> str:
    """Return the command that designs and publishes the same again.

    Draws are fresh, or by the column `identity` and a key, whose file is called ``KEY``.

    Empty where the command line has no words for it: a criterion of a user's own, or rows of
    which each column is drawn alone. The parameters are those of `sanitize`; `to` is who gets it,
    `report` and `public_report` are the files of the reports that it writes too, if any.
    """
    options = bound_options(criterion, asked.sensitive)
    encoding = encoding or asked.encoding
    if not options or encoding == COLUMNS:
        return ""
    words = ["lowlift", "sanitize", source]
    words += [part for name in asked.sensitive for part in ("-s", name)]
    words += [part for name in asked.released for part in ("-x", name)]
    for name, bins in asked.bins.items():
        words += ["--bin", f"{name}={bins_text(bins)}"]
    if asked.missing != "value":
        words += ["--missing", asked.missing]
    words += [*options, *_cells(asked)]
    if mechanism != "auto":
        words += ["--mechanism", mechanism]
    if encoding and encoding != ROWS:
        words += ["--encoding", encoding]
    if asked.escape_formulas:
        words.append("--escape-formulas")
    words += [part for name in keep for part in ("--keep", name)]
    words += _by_key(identity)
    if round_to is not None:
        words += ["--round-to", f"{round_to:g}"]
    if time_limit != 60:  # the default of the command
        words += ["--time-limit", f"{time_limit:g}"]
    if to and to != EVERYBODY:
        words += ["--to", to]
    words += ["--report", report] if report else []
    words += ["--report-public", public_report] if public_report else []
    return wrapped([*words, "-o", target])


def apply_command(source: str, target: str, receipt: Receipt, identity: str | None) -> str:
    """Return the command that publishes by the same release again, as its receipt says."""
    words = ["lowlift", "apply", source, str(files_beside(receipt.output)["release"])]
    words += [part for name in receipt.kept for part in ("--keep", name)]
    outside = receipt.outside_the_guarantee
    if any(item.startswith("the kept columns") for item in outside):
        words.append("--accept-uncovered")
    if any(item.startswith("the order of the rows") for item in outside):
        words.append("--keep-order")
    if not receipt.checked_on_this_table:
        words.append("--accept-unchecked")
    if receipt.unseen:
        words += ["--unseen", "suppress"]
    return wrapped([*words, *_by_key(identity), "-o", target])


def what_is_drawn(draws: str, *, is_merged: bool) -> str:
    """Return what a repetition draws, and what that means, by how rows were drawn.

    Examples
    --------
    >>> what_is_drawn("fresh", is_merged=True)
    'Nothing is drawn: the same table is published the same again.'
    """
    if is_merged:
        return "Nothing is drawn: the same table is published the same again."
    if draws == "keyed":
        return (
            "KEY is the file of the key. The same release, key and ids draw the same again. Drawn "
            "without that key it is a second draw: whoever sees both learns more than either "
            "allows."
        )
    return (
        "A repeated publication draws anew. Whoever sees two draws of the same rows learns more "
        "than either allows: hand out one."
    )


def _by_key(identity: str | None) -> list[str]:
    return ["--id", identity, "--key-file", "KEY"] if identity else []


def verify_command(target: str, source: str) -> str:
    """Return the command that checks release, receipt and table again, on the source."""
    release = files_beside(target)["release"]
    return wrapped(["lowlift", "verify", str(release), target, "--against", source])


def bound_options(criterion: Criterion, sensitive: Sequence[str]) -> list[str]:
    """Return the options that say a criterion; none for a user's own.

    Examples
    --------
    >>> bound_options(LIP.at_most(2), ["income"]), bound_options(ALIP(0.5, 1.0), ["income"])
    (['--at-most', '2'], ['--criterion', 'alip', '--lower', '0.5', '--upper', '1.0'])
    """
    plain = plain_criterion(criterion)
    found = _in_words(plain, sensitive) or _by_name(plain)
    if found and isinstance(criterion, Population):
        found += ["--for", "population"]
        if criterion.confidence != 0.95:  # the default of the command
            found += ["--confidence", repr(criterion.confidence)]
    return found


def _in_words(plain: Criterion, sensitive: Sequence[str]) -> list[str]:
    """Return the options that say a criterion in words; none where there are no such words."""
    found: list[str] = []
    if isinstance(plain, AtMost):
        for label, belief in plain.parameters()["beliefs"].items():
            found += ["--at-most", f"{sensitive[0]}={label}:{belief!r}"]
        if math.isfinite(plain.factor):
            found += ["--at-most", repr(plain.factor)]
    elif isinstance(plain, LIP | EveryPrior) and plain.lower == plain.upper:
        factor = factor_of(plain.upper)
        found = ["--at-most", factor] if factor else []
        if factor and isinstance(plain, EveryPrior):
            found += ["--at-least", repr(plain.at_least)]
    return found


def _by_name(plain: Criterion) -> list[str]:
    """Return the options that name a criterion, with its bounds as numbers."""
    found: list[str] = []
    if isinstance(plain, LIP | LDP):
        name = "lip" if isinstance(plain, LIP) else "ldp"
        found = ["--criterion", name, "--epsilon", repr(plain.epsilon)]
    elif isinstance(plain, MaxLift):
        found = ["--criterion", "max-lift", "--upper", repr(plain.upper)]
    elif type(plain) in _NAMES:
        found = ["--criterion", _NAMES[type(plain)]]
        is_left_out = math.isinf(plain.lower) and not isinstance(plain, ALIP | EveryPrior)
        found += [] if is_left_out else ["--lower", repr(plain.lower)]
        found += ["--upper", repr(plain.upper)]
        for option in plain.fixed if isinstance(plain, BuiltIn) else ():
            found += [f"--{option.replace('_', '-')}", repr(getattr(plain, option))]
    elif getattr(plain, "unit", "nats") == "nats" and type(plain) in _NAMED:
        name, bound = _NAMED[type(plain)]
        found = ["--criterion", name, f"--{bound}", repr(getattr(plain, bound))]
    return found


def wrapped(words: Sequence[str]) -> str:
    r"""Return words quoted for a shell, on lines that a backslash continues.

    A line breaks before an option.

    Examples
    --------
    >>> print(wrapped(["lowlift", "sanitize", "our table.csv", "-s", "income"]))
    lowlift sanitize 'our table.csv' -s income
    """
    lines = [""]
    for word in words:
        quoted = shlex.quote(word)
        if word.startswith("-") and len(lines[-1]) + len(quoted) > _LINE - 20:
            lines.append("  ")
        lines[-1] += quoted if not lines[-1].strip() else f" {quoted}"
    return " \\\n".join(lines)


def factor_of(budget: float) -> str:
    """Return the shortest factor whose budget is this one; empty when there is none.

    Examples
    --------
    >>> factor_of(LIP.at_most(2).epsilon), factor_of(0.5)
    ('2', '')
    """
    for digits in range(1, _DIGITS):
        text = f"{math.exp(min(budget, 700.0)):.{digits}g}"
        if Fraction(text) >= 1 and LIP.at_most(Fraction(text)).epsilon == budget:
            return text
    return ""


def _cells(asked: Schema) -> list[str]:
    words = [] if asked.cells is None else ["--cells", str(asked.cells)]
    if asked.cells is not None and asked.min_rows != 20:  # the default of the command
        words += ["--min-rows", str(asked.min_rows)]
    for name, weight in asked.weights.items():
        words += ["--weight", f"{name}={weight:g}"]
    return words
