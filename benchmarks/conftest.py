"""Fixtures of the benchmarks: how long a run may be, contests, and points of growth curves."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import contest as contests
import machine
import pytest
from rival_process import RivalProcess

#: Rounds of a contest in each form of the run.
ROUNDS = {"tiny": 2, "quick": 5, "full": 9}
#: A point of a growth curve that takes longer is measured once.
SLOW_SECONDS = 2.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the form of the run, and the Python of the rivals that need versions of their own."""
    parser.addoption("--form", choices=sorted(ROUNDS), default="quick")
    parser.addoption("--rivals", default="")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a benchmark the sizes of this form."""
    marker = metafunc.definition.get_closest_marker("sizes")
    if marker and "size" in metafunc.fixturenames:
        values = marker.kwargs[metafunc.config.getoption("--form")]
        metafunc.parametrize("size", values, ids=[str(value) for value in values])


def pytest_benchmark_generate_machine_info() -> dict[str, object]:
    """Say what the machine is; pytest-benchmark's own record has the host's name."""
    return machine.facts()


def pytest_benchmark_generate_commit_info() -> dict[str, object]:
    """Say nothing of the checkout: its record has paths."""
    return {}


@pytest.fixture
def form(request: pytest.FixtureRequest) -> str:
    """Return tiny, quick or full."""
    return str(request.config.getoption("--form"))


@pytest.fixture
def contest(benchmark: Any, form: str) -> Callable[..., dict[str, Any]]:
    """Return the function that runs a contest."""

    def play(
        job: contests.Job,
        ours: contests.Contender,
        rivals: Sequence[contests.Contender] = (),
        rounds: int = 1000,
    ) -> dict[str, Any]:
        return contests.play(benchmark, job, ours, rivals, min(rounds, ROUNDS[form]))

    return play


@pytest.fixture
def grow(benchmark: Any, form: str) -> Callable[..., Any]:
    """Return the function that measures one point of a growth curve."""

    def point(
        plot: str, curve: str, size: int, run: Callable[[], Any], *, rounds: int = 3, **more: object
    ) -> Any:
        warm = contests.warmed(contests.Contender(curve, run, lambda _: 0.0))
        calls = warm.calls
        most = 1 if form == "tiny" or warm.expected > SLOW_SECONDS else rounds

        def turn() -> Any:
            for _ in range(calls):
                result = run()
            return result

        result = benchmark.pedantic(turn, rounds=most)
        seconds = sorted(benchmark.stats.stats.data)[most // 2] / calls
        record = {"plot": plot, "curve": curve, "size": size, "seconds": seconds, **more}
        benchmark.extra_info["growth"] = record
        return result

    return point


@pytest.fixture(scope="session")
def rivals(request: pytest.FixtureRequest) -> Iterator[RivalProcess]:
    """Return the process that runs the rivals with versions of their own."""
    path = request.config.getoption("--rivals")
    with RivalProcess(Path(path) if path else None) as process:
        yield process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for tables."""
    return tmp_path
