"""The regions on the site are what the library decides, exactly."""

import importlib
import math
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import lowlift as ll

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PRIOR = (50, 30, 20)
CRITERIA = [
    ll.LIP(0.5),
    ll.ALIP(0.7, 0.5),
    ll.MaxLift(0.5),
    ll.LDP(1.0),
    ll.L1Lift(math.inf, 0.5),
    ll.L1Lift(0.5, math.inf),
    ll.Chi2Lift(math.inf, 0.5),
    ll.Chi2Lift(0.5, 0.5),
    ll.AlphaLift(2, 0.5, 0.5),
    ll.AlphaLift(10, 0.25, 0.25),
    ll.AlphaLift(100, 1.0, 1.0),
]


@pytest.fixture(scope="module", autouse=True)
def importable():
    sys.path.insert(0, str(DOCS))
    yield
    sys.path.remove(str(DOCS))


def whole(belief):
    """Return the belief as whole numbers over one denominator."""
    parts = [Fraction(float(p)).limit_denominator(10**12) for p in belief]
    common = math.lcm(*(part.denominator for part in parts))
    return [int(part * common) for part in parts]


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_the_boundary_is_where_the_exact_verdict_changes(criterion):
    triangle = importlib.import_module("_pictures.triangle")
    p_s = np.array(PRIOR) / 100
    edge = triangle.boundary(criterion, p_s)[::40]
    for belief in edge:
        inner = p_s + (1 - 1e-6) * (belief - p_s)
        assert criterion.verdict(whole(inner), PRIOR)
        outer = p_s + (1 + 1e-6) * (belief - p_s)
        if (outer >= 0).all():
            assert not criterion.verdict(whole(outer), PRIOR)


def test_the_clinic_can_be_checked_by_hand():
    clinic = importlib.import_module("_pictures.clinic")
    joint = clinic.clinic()
    assert joint.counts.sum(axis=1).tolist() == list(PRIOR)
    np.testing.assert_allclose(joint.lift[:, 1], [0.6, 2.0, 0.5], rtol=1e-12)
    assert ll.high_risk(joint, clinic.BOUND) == ("young", "senior")


def test_charts_have_the_ink_and_the_ground_of_the_page():
    drawn = importlib.import_module("_pictures.second_release").drawn_anew()
    assert "var(--color-background-primary)" in drawn  # edges of marks
    colours = set(re.findall(r"#[0-9a-f]{6}", re.sub(r"#m[0-9a-f]+", "", drawn)))
    assert not colours & {"#ffffff", "#000000", "#333333", "#e4e4e4"}


def test_a_mixture_of_allowed_outputs_is_drawn_outside():
    regions = importlib.import_module("_pictures.regions")
    assert regions.not_convex().count("allowed</title>") == 3


def test_sizes_are_those_of_what_is_installed():
    found = importlib.import_module("_pictures.sizes").installed("lowlift")
    assert {"lowlift", "numpy", "scipy", "duckdb", "numba"} <= set(found)
    assert "pytest" not in found  # of an extra
    numpy = Path(importlib.import_module("numpy").__file__).parent
    files = sum(path.stat().st_size for path in numpy.rglob("*.py"))
    assert files < found["numpy"] < 100 * files
