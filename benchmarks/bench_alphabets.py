"""The random response from small to large alphabets, each beside its goal: gap, time, memory.

Every row is one call in a new process (`target_process`), so its peak memory is its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import machine
import pytest
from targets import FULL, SHORT, TINY, Target

PROCESS = Path(__file__).resolve().parent / "target_process.py"
#: Seconds that a rival gets, and that a process gets beyond its limit before it is ended.
RIVAL_LIMIT, PATIENCE = 120.0, 120.0


def answer_of(target: Target, who: str, limit: float) -> dict[str, Any]:
    """Return what a process answers; with "why" where there is no result."""
    asked = {
        "who": who,
        "joint": target.joint,
        "criterion": target.criterion,
        "gap": target.gap,
        "limit": limit,
    }
    command = [sys.executable, str(PROCESS), json.dumps(asked)]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, timeout=limit + PATIENCE
        )
    except subprocess.TimeoutExpired:
        return {"why": f"ended after {limit + PATIENCE:.0f} s"}
    if done.returncode:
        return {"why": f"ended with status {done.returncode}"}
    return dict(json.loads(done.stdout))


@pytest.mark.sizes(tiny=TINY, quick=SHORT, full=FULL)
def bench_targets(benchmark: Any, form: str, size: Target) -> None:
    limit, load = size.limit or size.seconds or 60.0, machine.load()[0]
    found = benchmark.pedantic(answer_of, (size, "lowlift", limit), rounds=1)
    assert "why" not in found, found
    most = RIVAL_LIMIT if form == "full" else 10.0
    others = [{"who": who, **answer_of(size, who, most)} for who in size.rivals]
    goal = {"gap": size.gap, "seconds": size.seconds, "memory_mb": size.memory_mb}
    has_goal = size.seconds is not None
    benchmark.extra_info["target"] = {
        "id": str(size),
        "name": size.name,
        **found,
        "limit": limit,
        "goal": goal if has_goal else None,
        "load": load,
        "date": machine.today(),
        "rivals": others,
    }
