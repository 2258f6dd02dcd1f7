"""All that the paper numbers has a row in docs/paper-mapping.md, and its names can be imported."""

import functools
import importlib
import re
from fractions import Fraction
from pathlib import Path

import pytest

import lowlift as ll
import lowlift.paper

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "paper-mapping.md"
#: What the paper numbers, in its order.
DEFINITIONS = ["LIP", "LDP", "ALIP", "refinement", "lift-based", "lift-inverse"]
EQUATIONS = [
    *("lift", "min-lift and max-lift", "LIP", "LDP", "ALIP"),
    *("X_H of ALIP", "X_H of LDP", "watchdog", "leakage above", "leakage below"),
    *("utility of the watchdog", "AORR", "utility of subsets", "AORR by H(X|Y)"),
    *("subset: objective", "subset: q", "subset: Q", "subset: sum of Q", "subset: mixture"),
    *("subset: privacy", "polytope", "linear program", "outputs", "q and Q"),
    *("P(x|y)", "P(y)"),
    *("l1-lift", "chi2-lift", "alpha-lift"),
    *("l1-lift-inverse", "chi2-lift-inverse", "alpha-lift-inverse"),
    *("X_H of alpha-lift", "LDP of X_H", "its proof"),
]
ALGORITHMS = ["subset merging", "subset random response"]
PROPOSITIONS = [
    *("ALIP bounds averages and LDP", "utility of LDP", "ALIP to lift-based"),
    *("lift-based to max-lift", "ALIP to lift-inverse", "lift-inverse to min-lift", "LDP on X_H"),
]
FIGURES = [
    *("histogram", "watchdog", "AORR", "subset merging", "AORR, SRR and subset merging"),
    *("SRR at 15 by 200", "l1 and chi2", "alpha"),
]
NUMBERED = [
    *(f"Definition {k}" for k in range(1, len(DEFINITIONS) + 1)),
    *(f"({k})" for k in range(1, len(EQUATIONS) + 1)),
    *(f"Algorithm {k}" for k in range(1, len(ALGORITHMS) + 1)),
    "Theorem 1",
    *(f"Proposition {k}" for k in range(1, len(PROPOSITIONS) + 1)),
    *(f"Figure {k}" for k in range(1, len(FIGURES) + 1)),
]
NUMBER = re.compile(r"(?:Definition|Algorithm|Theorem|Proposition|Figure) \d+|\(\d+\)")
NAME = re.compile(r"`(?:[^`<]*<|~)?(lowlift(?:\.\w+)+)>?`")


def rows():
    """Return (first cell, names in the last cell) of each row of the page's tables."""
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| in the paper"):
            cells = line.strip("|").split(" | ")
            found.append((cells[0].strip(), NAME.findall(cells[-1])))
    return found


def meant(name):
    """Return the object that a dotted name means: the longest module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[cut:], module)
    raise ModuleNotFoundError(name)


def test_every_number_has_one_row_in_order():
    numbers = [match[0] for cell, _ in rows() if (match := NUMBER.match(cell))]
    assert len(EQUATIONS) == 35
    assert numbers == NUMBERED


@pytest.mark.parametrize(("cell", "names"), rows(), ids=[cell for cell, _ in rows()])
def test_every_name_of_a_row_can_be_imported(cell, names):
    assert names, f"{cell} must name what has it"
    for name in names:
        owner, _, last = name.rpartition(".")
        # A field of a dataclass is an attribute of its objects only.
        assert last in getattr(meant(owner), "__dataclass_fields__", ()) or meant(name)


def test_what_the_page_says_of_propositions_and_figures_is_there():
    claims = lowlift.paper.try_propositions(cases=20, seed=1)
    tried = {re.match(r"Theorem 1|\d", claim.proposition)[0] for claim in claims}
    assert tried == {"Theorem 1", *(str(k) for k in range(1, len(PROPOSITIONS) + 1))}
    assert sorted(lowlift.paper.EXPERIMENTS) == list(range(2, len(FIGURES) + 1))
    assert 1 in lowlift.paper.FIGURES


def test_equations_9_and_10_are_about_the_merged_set_alone():
    named = {cell.partition(" ")[0]: names for cell, names in rows()}
    assert named["(9)"][:2] == ["lowlift.measures.max_lift", "lowlift.watchdog"]
    assert named["(10)"][:2] == ["lowlift.measures.min_lift", "lowlift.watchdog"]
    counts = [[10, 2, 13, 7], [1, 10, 7, 13]]  # merged, the first two say less than the others
    joint = ll.Joint.from_counts(counts, x_labels="abcd")
    release = ll.watchdog(joint, ll.LIP(0.5), repair=False)
    assert ll.high_risk(joint, ll.LIP(0.5)) == ("a", "b")
    at = release.channel.y_labels.index(("a", "b"))
    p_h = [Fraction(12, 32), Fraction(11, 31)]  # P(X_H|s)
    lifts = [float(p / Fraction(23, 63)) for p in p_h]
    assert ll.measures.max_lift(joint, release.channel)[at] == pytest.approx(max(lifts), rel=1e-12)
    assert ll.measures.min_lift(joint, release.channel)[at] == pytest.approx(min(lifts), rel=1e-12)
    # The leakage over all outputs is another number.
    assert release.audit.lift.max() > max(lifts) + 1e-3


def test_equation_33_is_a_set_of_symbols():
    named = {cell.partition(" ")[0]: names for cell, names in rows()}
    assert named["(33)"] == ["lowlift.high_risk", "lowlift.AlphaLift"]
    joint, bound = ll.Joint.random(3, 8, seed=0), ll.AlphaLift(2, 0.3, 0.2)
    channel = ll.Channel.identity(joint)
    over = (ll.measures.alpha_lift(joint, channel, 2) > 2.718281828459045**0.2) | (
        ll.measures.alpha_lift_inverse(joint, channel, 2) > 2.718281828459045**0.3
    )
    assert ll.high_risk(joint, bound) == tuple(
        x for x, is_high in zip(joint.x_labels, over, strict=True) if is_high
    )
    assert 0 < over.sum() < joint.n_x
