"""What each limit keeps, found one by one as a design of it does; a first design, then the best."""

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift.report.outcome import AVERAGE, CANNOT, EMPTY, PROVES, USEFUL, kept_share
from lowlift.tables import Origin
from lowlift.workflow.cells import STAGES
from lowlift.workflow.designing import design_counted
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
        # Cells were learnt from all rows, so what is foreseen of their parts is what they keep.
        tolerance = 0.05 if again.kept is None else 1e-9
        assert stop.share == pytest.approx(kept_share(again.encoded, again.kept), abs=tolerance)
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


def test_a_limit_at_which_a_row_can_prove_a_value_says_so():
    counts = {"no": (60, 25, 0, 5), "yes": (20, 25, 30, 40)}
    rows = [(s, x) for s, n in counts.items() for x, k in zip("abcd", n, strict=True)
            for _ in range(20 * k)]  # fmt: skip
    frame, schema = pd.DataFrame(rows, columns=["ill", "ward"]), ll.Schema("ill", "ward")
    gains = [(each, ll.MaxLift(each)) for each in (0.25, 1.7)]
    made = design(frame, schema, ll.MaxLift(1.7))
    assert [stop.shown for stop in stops(frame, schema, made, gains)] == ["", PROVES]
    means = [(each, ll.AlphaLift(2.0, each / 2, each / 2)) for each in (0.25, 1.7)]
    made = design(frame, schema, means[0][1])
    assert {stop.shown for stop in stops(frame, schema, made, means)} == {AVERAGE}
    made = design(frame, schema, ll.LIP.at_most(2))
    assert {stop.shown for stop in stops(frame, schema, made, bounds())} == {""}


def test_a_limit_without_time_is_late_and_not_said_to_keep_nothing(table):
    schema = ll.Schema("ill", ["job", "ward", "age", "pay"])
    made = design(table, schema, ll.LIP.at_most(2))
    (found,) = stops(table, schema, made, [(1.5, ll.LIP.at_most(1.5))], seconds=0.0)
    assert (found.state, found.is_late) == (EMPTY, True)
    (found,) = stops(table, schema, made, [(1.5, ll.LIP.at_most(1.5))])
    assert (found.state, found.is_late) == (USEFUL, False)


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


# A first design before the best one --------------------------------------------------------------


@pytest.mark.parametrize("names", [["job", "ward"], ["job", "ward", "age", "pay"]])
def test_a_first_design_holds_and_comes_before_the_best(table, names):
    """For symbols it is merged once; for rows cells are still whole."""
    table = table.assign(job=table["job"] + (table["age"] % 20).astype(str))
    heard, bound = [], ll.LIP.at_most(1.5)
    made = design(table, ll.Schema("ill", names), bound, first=heard.append, stage=heard.append)
    (first,) = (each for each in heard if not isinstance(each, str))
    assert first.is_satisfied
    assert ll.audit(first.release.joint, first.release.channel, bound).is_satisfied
    assert made.is_satisfied
    assert made.release.joint.n_x >= first.release.joint.n_x
    stages = [each for each in heard if isinstance(each, str)]
    assert stages == (list(STAGES) if len(names) > 2 else ["counting"])


def test_merging_at_tighter_budgets_gives_a_first_design_and_once_does_not():
    joint, spec, heard = ll.Joint.random(4, 60, seed=1), Origin((), (), "value", "", 0, None), []
    how = {"mechanism": "subset-merging", "first": heard.append}
    design_counted(joint, spec, ll.LIP(0.7), **how)
    assert not heard
    best = design_counted(joint, spec, ll.LIP(0.7), is_monotone=True, **how)
    (first,) = heard
    assert first.is_satisfied
    assert first.release.audit.nmi < best.release.audit.nmi


@pytest.mark.parametrize("n_steps", [1, 2, 4, 8])
def test_a_stopped_search_publishes_values_that_tell_no_less_than_the_first_design(n_steps):
    rng = np.random.default_rng(3)
    counts = rng.multinomial(40_000, rng.dirichlet(np.ones(15 * 200))).reshape(15, 200) + 1
    joint, spec = ll.Joint.from_counts(counts), Origin((), (), "value", "", 0, None)
    heard, steps = [], []

    def stop(state):
        steps.append(state)
        return len(steps) < n_steps

    how = {"preferred": "values", "first": heard.append, "progress": stop}
    made = design_counted(joint, spec, ll.LIP.at_most(1.5), **how)
    (first,) = heard
    assert made.encoded.name == first.encoded.name == "values"
    assert made.encoded.nmi >= first.encoded.nmi
    assert made.is_satisfied
    assert made.release.certificate.upper_bound >= made.encoded.nmi
    assert made.release.certificate.is_stopped
