"""What each limit keeps: found one by one, the same as a design of that limit keeps."""

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift.report.outcome import CANNOT, EMPTY, USEFUL, kept_share
from lowlift.workflow.rows import design
from lowlift.workflow.stops import stops

LIMITS = (1.1, 1.5, 2.0, 5.0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    job = rng.choice(["nurse", "clerk", "smith", "cook"], 4000)
    age, pay = rng.integers(20, 60, 4000), rng.normal(3000, 500, 4000).round(2)
    ill = rng.random(4000) < np.where(job == "nurse", 0.6, 0.15) * (1 + age / 100)
    ward = rng.choice(["north", "south"], 4000)
    data = {"ill": np.where(ill, "yes", "no"), "job": job, "ward": ward, "age": age, "pay": pay}
    return pd.DataFrame(data)


def bounds(population=False):
    made = [(limit, ll.LIP.at_most(limit)) for limit in LIMITS]
    return [(limit, ll.Population(c)) for limit, c in made] if population else made


@pytest.mark.parametrize("names", [["job", "ward"], ["job", "ward", "age", "pay"]])
def test_each_limit_keeps_what_its_design_keeps(table, names):
    schema = ll.Schema("ill", names)
    made = design(table, schema, ll.LIP.at_most(2))
    heard = []
    found = stops(table, schema, made, bounds(), tell=heard.append)
    assert heard == found
    assert [stop.limit for stop in found] == list(LIMITS)
    for stop, (_, bound) in zip(found, bounds(), strict=True):
        again = design(table, schema, bound)
        assert stop.share == pytest.approx(kept_share(again.encoded), abs=0.05)
        assert stop.most is None or stop.most >= stop.share - 1e-6
    assert found[-1].share >= found[0].share


def test_a_sample_is_measured_for_the_population(table):
    schema = ll.Schema("ill", ["job", "ward"])
    made = design(table, schema, ll.Population(ll.LIP.at_most(2)))
    here = stops(table, schema, made, bounds(population=True))
    everybody = stops(table, schema, made, bounds())
    assert here[1].share < everybody[1].share
    rows = ll.Schema("ill", ["job", "age", "pay"])
    made = design(table, rows, ll.Population(ll.LIP.at_most(2)))
    found = stops(table, rows, made, bounds(population=True))
    assert all(0 <= stop.share <= 1 for stop in found)


def test_a_limit_that_breaks_in_its_written_form_cannot_be_promised(table, monkeypatch):
    schema = ll.Schema("ill", ["job", "ward"])
    made = design(table, schema, ll.LIP.at_most(2))
    (strict,) = stops(table, schema, made, [(1.0, ll.LIP(0.0))])
    assert strict.state in {USEFUL, EMPTY}  # a channel that ignores X is always allowed

    def refuse(*_, **__):
        raise ll.BoundViolated("the values break the bound.")

    monkeypatch.setattr("lowlift.workflow.designing.encode", refuse)
    (found,) = stops(table, schema, made, [(2.0, ll.LIP.at_most(2))])
    assert (found.state, found.share, found.most) == (CANNOT, 0.0, None)
