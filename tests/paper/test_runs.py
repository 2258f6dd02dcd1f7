"""Running the experiments: the same numbers on any number of processes, and resuming."""

import json
import signal

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

import lowlift as ll
from lowlift.paper import runs
from lowlift.paper.experiments import EXPERIMENTS, Setup
from lowlift.paper.runs import Size, joint_of, run_experiment, runner, start_workers

TINY = Size(joints=2, is_quick=True)
PROVEN = {"random response", "proven random response", "optimal merging"}
#: Its figures are made once, in one process of the tests.
pytestmark = pytest.mark.xdist_group("runs")


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """No search of these is stopped by the clock, however busy the machine."""
    monkeypatch.setattr(Size, "seconds_of", lambda *_: 60.0)


@pytest.fixture
def calls(monkeypatch):
    """Every task that is run in this process, in order."""
    seen = []

    def counted(task, run=runs.run_task):
        seen.append(task)
        return run(task)

    monkeypatch.setattr(runs, "run_task", counted)
    return seen


def run(figure, folder, size=TINY, jobs=1, progress=None):
    with runner(jobs) as parallel:
        return run_experiment(EXPERIMENTS[figure], size, folder, parallel, progress)


def assert_same(first, second, fields=None):
    assert list(first) == list(second)
    for name, sweep in first.items():
        np.testing.assert_array_equal(sweep.epsilons, second[name].epsilons)
        for field in fields or set(sweep.values) - {"seconds"}:
            np.testing.assert_array_equal(sweep.values[field], second[name].values[field])


@pytest.fixture(scope="module")
def sequential(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequential")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Size, "seconds_of", lambda *_: 60.0)
        return {figure: run(figure, folder) for figure in (4, 5)}, folder


# The numbers.


def test_every_series_has_every_joint_and_budget(sequential):
    for figure, sweeps in sequential[0].items():
        parts = list(TINY.parts(EXPERIMENTS[figure]))
        assert list(sweeps) == [series.name for series, _, _ in parts]
        for series, joints, epsilons in parts:
            sweep = sweeps[series.name]
            assert sweep.series == series
            assert sweep.epsilons.tolist() == list(epsilons)
            for name, values in sweep.values.items():
                assert values.shape == (joints, len(epsilons))
                is_proven = name != "upper_bound" or series.mechanism in PROVEN
                assert (np.isfinite if is_proven else np.isnan)(values).all()
            assert (sweep.values["seconds"] > 0).all()


def test_the_numbers_are_those_of_the_mechanism(sequential):
    joints = [joint_of(EXPERIMENTS[4], 9, number) for number in range(2)]
    sweep = sequential[0][4]["alip-0.35"]
    for k, joint in enumerate(joints):
        for i, epsilon in enumerate(sweep.epsilons.tolist()):
            audit = ll.subset_merging(joint, ll.ALIP.split(epsilon, 0.35)).audit
            assert sweep.values["nmi"][k, i] == audit.nmi
            assert sweep.values["min_lift_leakage"][k, i] == audit.min_lift_leakage
            assert sweep.values["max_lift_leakage"][k, i] == audit.max_lift_leakage
            assert sweep.values["is_satisfied"][k, i] == 1
    np.testing.assert_allclose(sweep.mean("nmi"), sweep.values["nmi"].sum(axis=0) / 2, rtol=1e-15)
    gap = np.abs(np.diff(sweep.values["nmi"], axis=0)[0])
    np.testing.assert_allclose(sweep.spread("nmi"), gap / np.sqrt(2), rtol=1e-12)


def test_markers_are_proven_and_keep_no_less(sequential):
    for sweeps, curve in zip(sequential[0].values(), ("alip-0.5", "subset-merging"), strict=True):
        best, merging, base = sweeps["best"], sweeps["best-merging"], sweeps[curve]
        assert (best.values["upper_bound"] >= best.values["nmi"]).all()
        assert (merging.values["upper_bound"] >= merging.values["nmi"]).all()
        assert (best.values["upper_bound"] - best.values["nmi"] <= 1.01e-5).all()
        at = [base.epsilons.tolist().index(e) for e in best.epsilons.tolist()]
        assert (merging.values["nmi"] >= base.values["nmi"][:, at] - 1e-12).all()
        assert (best.values["upper_bound"] >= merging.values["nmi"] - 1e-12).all()


@pytest.mark.parametrize("figure", [4, 5])
def test_two_processes_find_the_same_numbers(figure, sequential, tmp_path):
    assert_same(sequential[0][figure], run(figure, tmp_path, jobs=2))


# Joblib's multiprocessing forks, which Python 3.12 and later warn about where threads run.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    ("backend", "is_generator"),
    # The first can only return everything at once.
    [("multiprocessing", False), ("threading", True)],
)
def test_other_backends_find_the_same_numbers(backend, is_generator, sequential, tmp_path):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        parallel = runner(None)
    assert parallel.return_generator is is_generator
    assert parallel.n_jobs == 2
    done = []
    with parallel:
        found = run_experiment(
            EXPERIMENTS[4], TINY, tmp_path, parallel, lambda *state: done.append(state)
        )
    assert_same(sequential[0][4], found)
    # In several goes, so that what is done is kept: 12 markers, 4 curves and 3 readings.
    assert len(done) == 1 + 19


def test_a_backend_that_returns_all_at_once_is_given_a_few_pieces_at_a_time(tmp_path, monkeypatch):
    batches = []

    class AllAtOnce:
        return_generator = False

        def __call__(self, calls):
            batches.append(list(calls))
            return [function(*args) for function, args, _ in batches[-1]]

    monkeypatch.setattr(runs, "run_task", lambda task: [[0.0] * 6] * len(task))
    run_experiment(EXPERIMENTS[4], TINY, tmp_path, AllAtOnce())
    assert [len(batch) for batch in batches] == [16, 3]


def test_results_may_come_in_any_order(sequential, tmp_path):
    class Backwards:
        return_generator = True

        def __call__(self, calls):
            return reversed([function(*args) for function, args, _ in calls])

    assert_same(sequential[0][4], run_experiment(EXPERIMENTS[4], TINY, tmp_path, Backwards()))


def test_another_seed_gives_other_joints():
    experiment = EXPERIMENTS[4]
    first, again = joint_of(experiment, 9, 0), joint_of(experiment, 9, 0)
    # Figures of the same size have the same joints.
    for same in (again, joint_of(EXPERIMENTS[5], 9, 0)):
        np.testing.assert_array_equal(first.masses, same.masses)
    for other in (joint_of(experiment, 8, 0), joint_of(experiment, 9, 1)):
        assert not np.array_equal(first.masses, other.masses)


# What is kept on disk.


def test_a_second_run_runs_nothing(tmp_path, calls):
    done = []
    first = run(4, tmp_path, progress=lambda *state: done.append(state))
    assert len(calls) == 19
    total = sum(joints * len(budgets) for _, joints, budgets in TINY.parts(EXPERIMENTS[4]))
    assert done[0] == (4, 0, total)
    assert done[-1] == (4, total, total)
    assert [state[1] for state in done] == sorted(state[1] for state in done)
    before = (tmp_path / "figure-4.jsonl").read_text("utf-8")
    done.clear()
    again = run(4, tmp_path, progress=lambda *state: done.append(state))
    assert len(calls) == 19
    assert_same(first, again, fields=set(first["best"].values))  # seconds included
    assert (tmp_path / "figure-4.jsonl").read_text("utf-8") == before
    assert done == [(4, total, total)]


def test_a_line_that_was_cut_off_is_run_again(sequential, tmp_path, calls):
    first, folder = sequential
    lines = (folder / "figure-4.jsonl").read_text("utf-8").splitlines(keepends=True)
    cut = tmp_path / "figure-4.jsonl"
    cut.write_text("".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2], "utf-8")
    assert_same(first[4], run(4, tmp_path))
    assert [task.key for task in calls] == [json.loads(lines[-1])["key"]]
    # The half line is gone, and nothing was appended to it.
    kept = [json.loads(line)["key"] for line in cut.read_text("utf-8").splitlines()]
    assert kept == [json.loads(line)["key"] for line in lines]
    run(4, tmp_path)
    assert len(calls) == 1


def test_an_interrupted_run_goes_on_where_it_stopped(sequential, tmp_path, calls, monkeypatch):
    counted = runs.run_task

    def interrupted(task):
        if len(calls) == 5:
            raise KeyboardInterrupt
        return counted(task)

    monkeypatch.setattr(runs, "run_task", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(4, tmp_path)
    assert len((tmp_path / "figure-4.jsonl").read_text("utf-8").splitlines()) == 5
    monkeypatch.setattr(runs, "run_task", counted)
    assert_same(sequential[0][4], run(4, tmp_path))
    assert len(calls) == 19


def test_lines_that_say_nothing_are_left_out(sequential, tmp_path, calls):
    path = tmp_path / "figure-4.jsonl"
    text = (sequential[1] / "figure-4.jsonl").read_text("utf-8")
    path.write_text('\n[]\n3\n{"key": "x"}\n{"key": "x", "rows": []}\nnull\n' + text, "utf-8")
    run(4, tmp_path)
    assert calls == []
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize(
    "size",
    [
        Size(joints=2, is_quick=True, seed=8),
        Size(joints=1, is_quick=True),
    ],
    ids=["seed", "joints"],
)
def test_pieces_of_another_run_are_not_used(size, sequential, tmp_path, calls):
    for path in sequential[1].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    found = run(4, tmp_path, size)
    if size.seed == 8:
        assert len(calls) == 19
        fresh = run(4, tmp_path / "fresh", size)
        assert_same(fresh, found)
        assert not np.array_equal(fresh["ldp"].values["nmi"], sequential[0][4]["ldp"].values["nmi"])
    else:
        # A marker is one joint and one budget; those of the first joint are still good.
        assert {task.series for task in calls}.isdisjoint({"best", "best-merging"})
        for name, sweep in found.items():
            np.testing.assert_array_equal(
                sweep.values["nmi"], sequential[0][4][name].values["nmi"][:1]
            )


def test_a_piece_is_named_by_all_that_decides_it(monkeypatch):
    task = runs.Task(4, "best", 9, (0, 1), (1.0,), 2.0)
    others = [
        runs.Task(5, "best", 9, (0, 1), (1.0,), 2.0),
        runs.Task(4, "ldp", 9, (0, 1), (1.0,), 2.0),
        runs.Task(4, "best", 8, (0, 1), (1.0,), 2.0),
        runs.Task(4, "best", 9, (1, 2), (1.0,), 2.0),
        runs.Task(4, "best", 9, (0, 1), (2.0,), 2.0),
        runs.Task(4, "best", 9, (0, 1), (1.0,), 30.0),
        runs.Task(4, "best", 9, (0, 1), (1.0,), 2.0, Setup(n_x=9)),
        runs.Task(4, "best", 9, (0, 1), (1.0,), 2.0, Setup(n_s=9)),
        runs.Task(4, "best", 9, (0, 1), (1.0,), 2.0, Setup(lambdas=(0.5,))),
    ]
    assert len({task.key, *(other.key for other in others)}) == 10
    before = task.key
    monkeypatch.setattr(runs, "__version__", "0.0.0")
    assert task.key != before


# How much is run.


def test_sizes():
    full, quick = Size(), Size(is_quick=True)
    assert [full.joints_of(EXPERIMENTS[n]) for n in (2, 3, 6)] == [1000, 100, 10]
    assert [quick.joints_of(EXPERIMENTS[n]) for n in (2, 3, 6)] == [40, 4, 2]
    assert [Size(joints=50).joints_of(EXPERIMENTS[n]) for n in (2, 3, 6)] == [50, 50, 10]
    for experiment in EXPERIMENTS.values():
        for size in (full, quick, Size(joints=1)):
            for series, joints, budgets in size.parts(experiment):
                assert 1 <= joints <= experiment.joints
                assert set(budgets) <= set(experiment.epsilons)
                if series in experiment.curves and not size.is_quick:
                    assert budgets == experiment.epsilons
                # Markers and readings are set beside their curve at budgets that it has.
                if series.beside:
                    beside = next(p for p in size.parts(experiment) if p[0].name == series.beside)
                    assert set(budgets) <= set(beside[2])
                    assert joints <= beside[1]


def test_tasks_are_every_joint_and_budget_once():
    for experiment in EXPERIMENTS.values():
        for size in (Size(), Size(is_quick=True), Size(joints=7)):
            tasks = runs._tasks(experiment, size)
            assert len({task.key for task in tasks}) == len(tasks)
            for series, joints, budgets in size.parts(experiment):
                cells = [
                    (number, epsilon)
                    for task in tasks
                    if task.series == series.name
                    for number in range(*task.joints)
                    for epsilon in task.epsilons
                ]
                assert sorted(cells) == [(k, e) for k in range(joints) for e in budgets]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": 0}, "joints must be 1 or more; got 0"),
        ({"joints": -3}, "joints must be 1 or more; got -3"),
        ({"seed": -1}, "seed must be 0 or more; got -1"),
        ({"epsilons": (1.0, 0.0)}, "budgets must be above 0 and finite"),
        ({"seconds": 0.0}, "seconds must be above 0 and finite; got 0.0"),
    ],
)
def test_sizes_are_checked(options, message):
    with pytest.raises(ll.InvalidInput, match=message):
        Size(**options)


# Other setups than the paper's.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_x": 1}, "x must be a whole number, 2 or more; got 1"),
        ({"n_s": 2.5}, "s must be a whole number, 2 or more; got 2.5"),
        ({"lambdas": (0.5, 1.0)}, "lambdas must lie between 0 and 1"),
        ({"lambdas": (0.5, 0.5)}, "lambdas must differ"),
        ({"alphas": (1.0,)}, "alphas must be above 1 and finite"),
    ],
)
def test_setups_are_checked(options, message):
    with pytest.raises(ll.InvalidInput, match=message):
        Setup(**options)


def test_a_figure_refuses_what_it_does_not_have():
    with pytest.raises(ll.InvalidInput, match=r"Figure 5 takes one lambda; got 2\."):
        Size(setup=Setup(lambdas=(0.2, 0.8))).experiment(5)
    with pytest.raises(ll.InvalidInput, match=r"Figure 4 has no alpha\. Figure 8 does\."):
        Size(setup=Setup(alphas=(3.0,))).experiment(4)


def test_the_papers_setup_is_the_default():
    for number, experiment in EXPERIMENTS.items():
        assert Size().experiment(number) == experiment
        assert experiment.is_printed
    # Spelt out, the same numbers are another setup: nothing is compared by a coincidence of names.
    assert not Size(setup=Setup(n_x=17)).experiment(5).is_printed
    assert not Size(setup=Setup(n_x=17)).experiment(5).printed("srr", "nmi")


def test_curves_have_the_lambdas_and_orders_asked_for():
    four = Size(setup=Setup(lambdas=(0.2, 0.8))).experiment(4)
    assert [curve.name for curve in four.curves] == ["ldp", "alip-0.2", "alip-0.8"]
    names = {curve.name for curve in four.curves}
    assert {series.beside for series in (*four.markers, *four.readings)} <= names
    assert {series.notion.lam for series in four.markers} == {0.2}
    eight = Size(setup=Setup(alphas=(3.0,), lambdas=(0.7,))).experiment(8)
    assert [(s.name, s.notion.alpha, s.notion.lam) for s in eight.curves[1:]] == [
        ("alpha-3", 3.0, 0.7)
    ]


def test_another_size_is_what_the_mechanism_gives_there(tmp_path):
    size = Size(joints=2, setup=Setup(n_s=3, n_x=8, lambdas=(0.3,)), epsilons=(2.0, 1.0), seconds=5)
    experiment = size.experiment(5)
    assert (experiment.n_s, experiment.n_x) == (3, 8)
    with runner(1) as parallel:
        found = run_experiment(experiment, size, tmp_path, parallel)
    for name, mechanism in (("srr", ll.subset_random_response), ("best", ll.random_response)):
        assert found[name].epsilons.tolist() == [1.0, 2.0]
        for k in range(2):
            joint = joint_of(experiment, 9, k)
            assert (joint.n_s, joint.n_x) == (3, 8)
            for i, epsilon in enumerate((1.0, 2.0)):
                nmi = mechanism(joint, ll.ALIP.split(epsilon, 0.3)).audit.nmi
                assert found[name].values["nmi"][k, i] == pytest.approx(nmi, abs=2e-5)
    # More joints than the paper has are taken.
    assert Size(joints=5000, setup=Setup(n_x=8)).joints_of(experiment) == 5000


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_are_checked(jobs):
    with pytest.raises(ll.InvalidInput, match=f"jobs must be 1 or more; got {jobs}"):
        runner(jobs)


@pytest.fixture
def ctrl_c():
    """Python's own handling of Ctrl+C, which a shell takes away from what it runs behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_workers_leave_ctrl_c_to_this_process(ctrl_c):
    get_reusable_executor().shutdown(wait=True)  # those of other tests
    with runner(2) as parallel:
        start_workers(parallel, 2)
        found = list(parallel(joblib.delayed(signal.getsignal)(signal.SIGINT) for _ in range(4)))
    assert found == [signal.SIG_IGN] * 4
    assert signal.getsignal(signal.SIGINT) is ctrl_c


def test_without_jobs_joblib_decides():
    assert runner(3).n_jobs == 3
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert runner(None).n_jobs == 2
