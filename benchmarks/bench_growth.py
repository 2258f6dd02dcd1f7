"""How time grows with |X|, |S| and rows: the points of the growth plots."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import inputs
import pytest
import vertices
from naive_merging import naive_merging

import lowlift as ll
from lowlift.tables import open_table
from lowlift.workflow import Asked, Options, apply, audit_table, design

N_S, N_X = 8, 200
MERGING = ll.LIP(0.3)
RESPONSE = ll.LIP(1.0)
LIMIT = 30.0


def audited(joint: ll.Joint) -> Callable[[], object]:
    return partial(ll.audit, joint, ll.Channel.identity(joint), RESPONSE)


def responded(joint: ll.Joint) -> Callable[[], ll.Release]:
    return partial(ll.random_response, joint, RESPONSE, gap=1e-3, time_limit=LIMIT)


@pytest.mark.sizes(
    tiny=[10, 20],
    quick=[10, 30, 100, 300, 1000, 3000, 10_000],
    full=[10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000],
)
def bench_audit_by_x(grow: Any, size: int) -> None:
    joint = ll.Joint.random(N_S, size, seed=0)
    grow("x", "audit", size, audited(joint))


@pytest.mark.sizes(
    tiny=[10, 20],
    quick=[10, 30, 100, 300, 1000, 3000, 10_000],
    full=[10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000],
)
def bench_merging_by_x(grow: Any, size: int) -> None:
    joint = ll.Joint.random(N_S, size, seed=0)
    grow("x", "subset merging", size, partial(ll.subset_merging, joint, MERGING))


@pytest.mark.sizes(tiny=[10], quick=[10, 30, 100, 300], full=[10, 30, 100, 300, 1000, 3000])
def bench_naive_merging_by_x(grow: Any, size: int) -> None:
    joint = ll.Joint.random(N_S, size, seed=0)
    grow("x", "naive NumPy merging", size, partial(naive_merging, joint.p_sx, 0.3, 0.3))


@pytest.mark.sizes(tiny=[6], quick=[10, 20, 50, 100, 200], full=[10, 20, 50, 100, 200, 500, 1000])
def bench_random_response_by_x(grow: Any, benchmark: Any, size: int) -> None:
    joint = ll.Joint.random(N_S, size, seed=0)
    release = grow("x", "random response", size, responded(joint), rounds=1 if size > 200 else 3)
    certificate = release.certificate
    benchmark.extra_info["growth"]["gap"] = certificate.gap if certificate else None
    benchmark.extra_info["growth"]["nmi"] = release.audit.nmi


@pytest.mark.sizes(tiny=[6], quick=[8, 10, 12, 14], full=[8, 10, 12, 14, 16, 18])
def bench_qhull_by_x(grow: Any, size: int) -> None:
    joint = ll.Joint.random(N_S, size, seed=0)
    criterion = ll.ALIP(1.0, 1.0)

    def run() -> float:
        return vertices.mixed_by_highs(joint, vertices.vertices_by_qhull(joint, criterion))

    grow("x", "qhull + HiGHS", size, run, rounds=1)


@pytest.mark.sizes(tiny=[2, 3], quick=[2, 4, 8, 16, 32], full=[2, 4, 8, 16, 32, 64, 128])
@pytest.mark.parametrize("what", ["audit", "subset merging", "random response"])
def bench_by_s(grow: Any, form: str, size: int, what: str) -> None:
    joint = ll.Joint.random(size, 12 if form == "tiny" else N_X, seed=0)
    run: dict[str, Callable[[], object]] = {
        "audit": audited(joint),
        "subset merging": partial(ll.subset_merging, joint, MERGING),
        "random response": responded(joint),
    }
    grow("s", what, size, run[what])


@pytest.mark.sizes(
    tiny=[1000],
    quick=[10_000, 100_000, 1_000_000],
    full=[10_000, 100_000, 1_000_000, 10_000_000, 30_000_000],
)
@pytest.mark.parametrize(
    "what", ["count", "audit", "publish, fresh", "publish, keyed", "plain copy"]
)
def bench_by_rows(grow: Any, folder: Path, size: int, what: str) -> None:
    source, target = str(folder / "in.parquet"), str(folder / "safe.parquet")
    inputs.write_rows(Path(source), size)
    asked, bound = Asked(("s",), ("x",)), ll.ALIP(0.05, 0.05)
    release = design(source, asked, bound).release
    query = f"COPY (SELECT x FROM '{source}') TO '{folder}/copy.parquet' (FORMAT parquet)"  # noqa: S608
    keyed = Options(force=True, id="id", key=bytes(range(32)))
    with open_table(source) as table:
        columns = [table.column("s"), table.column("x")]
        run: dict[str, Callable[[], object]] = {
            "count": lambda: table.count(columns),
            "audit": lambda: audit_table(source, asked, bound),
            "publish, fresh": lambda: apply(source, release, target, Options(force=True)),
            "publish, keyed": lambda: apply(source, release, target, keyed),
            "plain copy": lambda: duckdb.sql(query),
        }
        grow("rows", what, size, run[what])


@pytest.mark.sizes(
    tiny=[1000], quick=[10_000, 100_000], full=[10_000, 100_000, 1_000_000, 10_000_000]
)
def bench_pycanon_by_rows(grow: Any, folder: Path, size: int) -> None:
    from pycanon import anonymity

    source = folder / "in.parquet"
    inputs.write_rows(source, size)
    frame = duckdb.execute(f"SELECT x, s FROM '{source}'").df()  # noqa: S608
    grow(
        "rows",
        "pycanon audit",
        size,
        partial(anonymity.delta_disclosure, frame, ["x"], ["s"]),
        rounds=1,
    )
