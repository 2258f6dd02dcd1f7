"""The least change for the population: on declared symbols, and on cells learnt from a pilot."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift._population.rows import counted_rows, population_region
from lowlift.errors import BoundViolated

TITANIC = ll.datasets.titanic()


@pytest.mark.parametrize("keep_law", [True, False])
@pytest.mark.parametrize("bound", [ll.LIP(0.5), ll.LDP(1.0), ll.MaxLift(0.5)], ids=str)
def test_the_least_change_holds_for_the_population(bound, keep_law):
    criterion = ll.Population(bound)
    release = ll.least_distortion(TITANIC, criterion, keep_law=keep_law)
    plain = ll.least_distortion(TITANIC, bound, keep_law=keep_law)
    assert release.audit.is_satisfied
    assert not ll.audit(TITANIC, plain.channel, criterion).is_satisfied
    found = release.certificate
    assert plain.certificate.distortion <= found.distortion
    assert found.lower_bound <= found.distortion
    assert found.law_error == 0 or not keep_law
    assert ll.verify_certificate(TITANIC, criterion, found)
    # The table is one of the populations: its own bound holds too.
    assert ll.audit(TITANIC, release.channel, bound).is_satisfied


def test_a_limit_on_distances_is_kept_or_refused():
    counts = [[40, 35, 30, 25], [25, 30, 35, 40]]
    joint = ll.Joint.from_counts(np.array(counts) * 40, x_labels=[20, 30, 40, 50])

    def distance(x, y):
        return abs(x - y)

    criterion = ll.Population(ll.LIP(0.2))
    with pytest.raises(ll.Infeasible, match="no channel that moves symbols by at most 0 was found"):
        ll.least_distortion(joint, ll.Population(ll.LIP(0.05)), distance, limit=0)
    release = ll.least_distortion(joint, criterion, distance, limit=30)
    assert release.audit.is_satisfied
    moved = [abs(joint.x_labels[x] - y) for k, y in enumerate(release.channel.y_labels)
             for x in release.channel.atom(k)[0]]  # fmt: skip
    assert max(moved) <= 30


def people(rows: int, seed: int) -> pd.DataFrame:
    """Return rows of one population: S depends on two of six columns."""
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(18, 80, rows), rng.normal(30, 8, rows).round(1)
    ill = rng.random(rows) < 0.25 + 0.3 * (age > 50) + 0.1 * (pay < 25)
    more = {f"c{k}": rng.integers(0, 4, rows) for k in range(4)}
    return pd.DataFrame({"ill": ill, "age": age, "pay": pay, **more})


@pytest.fixture(scope="module")
def safe():
    return ll.sanitize(people(6000, 0), sensitive="ill", criterion=ll.Population(ll.LIP(0.4)))


def test_rows_are_published_for_the_population(safe, tmp_path):
    assert safe.verification.is_ok
    assert safe.receipt.encoding == "rows"
    joint = safe.release.joint
    pilot = np.array(joint.origin.pilot)
    assert 0 < pilot.sum() < 0.2 * 6000
    assert (counted_rows(joint) == joint.counts - pilot).all()
    assert population_region(joint, safe.release.criterion).n_x == joint.n_x
    safe.release.to_json(tmp_path / "release.json")
    again = ll.Release.from_json(tmp_path / "release.json")
    assert again.origin.pilot == joint.origin.pilot
    assert again.audit.is_satisfied
    saved = json.loads((tmp_path / "release.json").read_text())
    saved["table"]["pilot"][0][0] = 10**9
    (tmp_path / "changed.json").write_text(json.dumps(saved))
    with pytest.raises(ll.InvalidInput, match="pilot"):
        ll.Release.from_json(tmp_path / "changed.json")


def test_more_rows_of_the_population_are_within_the_bound(safe):
    """So many rows count the true lifts: a warning would say that some are beyond."""
    many = people(60_000, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(safe.release.apply(many, unseen="suppress")) > 59_000


def test_rows_for_the_table_are_refused_on_other_rows():
    plain = ll.sanitize(people(6000, 0), sensitive="ill", criterion=ll.LIP(0.4))
    assert not plain.release.origin.pilot
    with pytest.raises(BoundViolated, match="on this table"):
        plain.release.apply(people(60_000, 1), unseen="suppress")


def test_a_large_table_has_a_random_pilot():
    frame = people(130_000, 2).sort_values("age", ignore_index=True)  # files come sorted
    bound = ll.Population(ll.LIP(0.4))
    safe = ll.sanitize(frame, sensitive="ill", criterion=bound, time_limit=20)
    assert safe.verification.is_ok
    joint = safe.release.joint
    pilot = np.array(joint.origin.pilot)
    assert pilot.sum() == 6500
    assert (pilot <= joint.counts).all()
    expected = joint.counts / joint.counts.sum() * 6500
    chi2 = ((pilot - expected) ** 2 / expected)[expected > 5].sum()
    assert chi2 < pilot.size + 8 * np.sqrt(2 * pilot.size)
