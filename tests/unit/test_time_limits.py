"""Every search stops at its limit, wherever it is, with an audited release and a true bound."""

import numpy as np
import pytest

import lowlift as ll
from lowlift import _deadline as deadline
from lowlift._deadline import Deadline
from lowlift._guarantees import stopped_note
from lowlift._mechanisms import optimal_merging as arranging
from lowlift._solver import growing
from lowlift._solver.growing import Grower
from lowlift.estimation import estimate

JOINT = ll.Joint.random(3, 40, seed=1)
SMALL = ll.Joint.random(3, 12, seed=3)
CRITERIA = [ll.LIP(0.3), ll.LDP(0.4), ll.AlphaLift(2.0, 0.3, 0.3)]
#: Questions that may be asked after the limit: a few per level of loops, none of them a loop.
FEW = 60


class Clock:
    """Stands for `time.monotonic` where searches ask for the time."""

    def __init__(self, step: float) -> None:
        self.step, self.questions, self.seconds = step, 0, 0.0

    def __call__(self) -> float:
        self.questions += 1
        self.seconds += self.step
        return self.seconds


@pytest.fixture
def clock(monkeypatch):
    """Return a function that sets the clock: `clock(step)`."""

    def set_clock(step: float) -> Clock:
        made = Clock(step)
        monkeypatch.setattr(deadline, "now", made)
        return made

    return set_clock


class Own:
    """Bounds the largest lift; the compiled loops know nothing of it."""

    def __str__(self):
        return "Own"

    lower, upper = float("inf"), 0.2

    def leakage(self, lift_sy, p_s):
        high = np.log(lift_sy.max(axis=0))
        return np.zeros_like(high), high

    def risk(self, lift_sy, p_s):
        return lift_sy.max(axis=0)


def questions_of(run, clock):
    """Return how often a run that is not stopped asks for the time."""
    counter = clock(0.0)
    run(1e9)
    return counter.questions


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_a_random_response_stops_wherever_it_is(criterion, clock):
    def run(limit):
        return ll.random_response(JOINT, criterion, time_limit=limit, jobs=1, gap=1e-4)

    best = run(None)
    merged = ll.subset_merging(JOINT, criterion)
    needed = questions_of(run, clock)
    bounds = []
    for limit in sorted({1, 2, 3, 5, 10, *np.linspace(12, needed * 0.9, 8).astype(int).tolist()}):
        counter = clock(1.0)
        release = run(limit)
        assert counter.questions <= limit + FEW
        assert release.audit.is_satisfied
        assert release.audit.nmi >= merged.audit.nmi - 1e-12
        certificate = release.certificate
        assert certificate.upper_bound >= best.audit.nmi - 1e-12
        assert certificate.gap == pytest.approx(certificate.upper_bound - release.audit.nmi)
        if not certificate.is_optimal:
            assert certificate.is_stopped
            assert certificate.stopped_after == limit
        bounds.append(certificate.upper_bound)
        clock(0.0)
        assert ll.verify_certificate(JOINT, criterion, certificate)
    assert min(bounds) < 1


def test_a_random_response_that_ends_by_itself_was_not_stopped():
    certificate = ll.random_response(SMALL, ll.LIP(0.3), time_limit=600.0).certificate
    assert certificate.is_optimal
    assert not certificate.is_stopped
    assert certificate.stopped_after is None


def test_a_random_response_stopped_by_progress_says_so():
    release = ll.random_response(JOINT, ll.LIP(0.3), progress=lambda _: False)
    assert release.audit.is_satisfied
    assert release.certificate.is_stopped


def test_too_many_pairs_are_not_listed(monkeypatch):
    """The square of the symbols is never held: 9,238 of them would take 2 GB."""
    from lowlift._kernels import pricing
    from lowlift._solver import columns

    monkeypatch.setattr(columns, "_MOST_IN_PAIRS", 30)
    monkeypatch.setattr(columns, "_MOST_ENTRIES", 400)
    sizes = []

    def linearise(rows, largest, lo, hi, pi, starts, *rest):
        sizes.append(starts.size)
        return wanted(rows, largest, lo, hi, pi, starts, *rest)

    wanted = pricing.linearise
    monkeypatch.setattr(pricing, "linearise", linearise)
    monkeypatch.setattr(pricing, "pairs", None)
    release = ll.random_response(JOINT, ll.LIP(0.3), gap=1e-3)
    assert release.certificate.is_optimal
    assert max(sizes) <= 50 * JOINT.n_x


@pytest.mark.parametrize("criterion", [*CRITERIA, ll.L1Lift(0.2, 0.2), Own()], ids=str)
def test_merging_stops_wherever_it_is_and_keeps_the_bound(criterion, clock, monkeypatch):
    monkeypatch.setattr(growing, "_PATIENCE", 1)
    whole = ll.subset_merging(JOINT, criterion)
    assert whole.certificate is None
    needed = questions_of(
        lambda limit: ll.subset_merging(JOINT, criterion, time_limit=limit), clock
    )
    kept = set()
    for limit in range(needed + 3):
        counter = clock(1.0)
        release = ll.subset_merging(JOINT, criterion, time_limit=limit)
        assert counter.questions <= limit + 4
        assert release.audit.is_satisfied
        if release.certificate is None:
            assert release.partition == whole.partition
            continue
        assert release.certificate.stopped_after == limit
        assert release.certificate.scope == "partitions"
        assert whole.audit.nmi <= release.certificate.upper_bound
        assert release.certificate.gap == pytest.approx(
            release.certificate.upper_bound - release.audit.nmi, abs=1e-9
        )
        kept.add(round(release.audit.nmi, 6))
    assert len(kept) > 1
    assert release.certificate is None


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_watchdog_stops_while_it_is_repaired(outputs, clock, monkeypatch):
    monkeypatch.setattr(growing, "_PATIENCE", 1)
    criterion = ll.LIP(0.1)
    joint = ll.Joint.from_counts([[37] * 20 + [40] * 3, [33] * 20 + [10] * 3])
    whole = ll.watchdog(joint, criterion, outputs)
    assert whole.certificate is None
    counter = clock(1.0)
    release = ll.watchdog(joint, criterion, outputs, time_limit=2)
    assert counter.questions <= 6
    assert release.audit.is_satisfied
    assert release.certificate.stopped_after == 2


@pytest.mark.parametrize("joint", [SMALL, JOINT], ids=["proven", "searched"])
def test_optimal_merging_stops_wherever_it_is(joint, clock, monkeypatch):
    monkeypatch.setattr(arranging, "_CHUNK", 256)
    greedy = ll.subset_merging(joint, ll.LIP(0.3))
    for limit in (0, 1, 2, 5, 9, 14):
        counter = clock(1.0)
        release = ll.optimal_merging(joint, ll.LIP(0.3), limit)
        assert counter.questions <= limit + 4
        assert release.audit.is_satisfied
        assert release.audit.nmi >= greedy.audit.nmi
        assert release.certificate.stopped_after == limit
        assert not release.certificate.is_optimal
    clock(0.0)
    assert not ll.optimal_merging(SMALL, ll.LIP(0.3)).certificate.is_stopped


def test_a_subset_random_response_stops_wherever_it_is(clock):
    def run(limit):
        return ll.subset_random_response(JOINT, ll.LIP(0.3), time_limit=limit)

    merged = ll.subset_merging(JOINT, ll.LIP(0.3))
    whole = run(None)
    assert whole.certificate is None
    needed = questions_of(run, clock)
    for limit in (1, 5, 20, needed // 4, needed // 2):
        counter = clock(1.0)
        release = run(limit)
        # Every block that is left is asked about once more.
        assert counter.questions <= limit + FEW + 4 * len(merged.partition)
        assert release.audit.is_satisfied
        assert release.audit.nmi >= merged.audit.nmi - 1e-12
        assert release.certificate.stopped_after == limit


def test_a_small_block_leaves_its_time_to_the_others():
    """An equal share of a second was taken from each of 400 blocks, and most were stopped."""
    joint = ll.Joint.random(2, 60, seed=0)
    release = ll.subset_random_response(joint, ll.LIP(0.3), time_limit=600.0)
    assert release.certificate is None


def test_an_estimate_stops_and_keeps_true_intervals(clock):
    rng = np.random.default_rng(0)
    channel = ll.Channel.from_probabilities(0.5 * np.eye(30) + 0.5 / 30)
    p = rng.dirichlet(np.ones(30))
    counts = rng.multinomial(10**6, p @ channel.p_y_given_x)
    whole = estimate(channel, counts, time_limit=600.0)
    assert whole.skipped == 0
    counter = clock(1.0)
    found = estimate(channel, counts, time_limit=20)
    assert counter.questions <= 20 + FEW
    assert found.skipped > 0
    assert (found.low <= whole.low + 1e-9).all()
    assert (found.high >= whole.high - 1e-9).all()


def test_a_random_response_of_many_values_is_estimated_in_parts():
    """Values that share no output are solved apart: 1,083 of them took 38 s, most not narrowed."""
    rng = np.random.default_rng(0)
    n = 400
    # A chain: each output mixes two neighbours, as the outputs of a random response do.
    weights = np.zeros((n, n))
    weights[np.arange(n), np.arange(n)] = 0.7
    inside = np.arange(n) % 40 != 39
    weights[np.flatnonzero(inside), np.flatnonzero(inside) + 1] = 0.3
    weights[~inside, np.flatnonzero(~inside)] = 1.0
    channel = ll.Channel.from_probabilities(weights)
    p = rng.dirichlet(np.ones(n))
    found = estimate(channel, rng.multinomial(10**6, p @ channel.p_y_given_x), time_limit=600)
    assert found.skipped == 0
    assert found.gap <= 1e-9
    assert found.is_identified.all()
    assert ((found.low <= p) & (p <= found.high)).all()


def test_a_certificate_file_says_that_the_search_stopped(tmp_path):
    stopped = ll.random_response(JOINT, ll.LIP(0.3), progress=lambda _: False).certificate
    stopped.to_json(tmp_path / "bound.json")
    assert ll.Certificate.from_json(tmp_path / "bound.json") == stopped
    saved = stopped.to_dict()
    del saved["stopped_after"]  # as files were before
    assert not ll.Certificate.from_dict(saved).is_stopped
    for wrong in (-1.0, float("inf"), float("nan"), "soon", [1]):
        with pytest.raises(ll.InvalidInput, match=r"no certificate|must be"):
            ll.Certificate.from_dict(saved | {"stopped_after": wrong})


def test_a_stopped_search_in_words():
    stopped = ll.Certificate("partitions", 0.9996, is_optimal=False, gap=0.25, stopped_after=0.5)
    assert stopped_note(stopped) == (
        "The search stopped after 0.5 s: NMI 0.749, proven bound 1 for merging, gap 0.25. "
        "More time may keep more: try a time limit of 2 s."
    )
    assert stopped_note(None) is None
    assert stopped_note(ll.Certificate("mechanisms", 0.5, is_optimal=True)) is None


def test_a_deadline_leaves_time_for_what_comes_after(clock):
    clock(0.0)
    whole = Deadline(10.0)
    assert whole.earlier(3.0).left == 7.0
    assert whole.earlier(300.0).left == 5.0
    assert Deadline(None).earlier(3.0).left == float("inf")
    assert isinstance(growing.grower_for(JOINT, Own()), Grower)
