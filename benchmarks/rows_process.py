"""Jobs whose time and memory are measured in a process of their own.

Usage: rows_process.py JSON, with {"path", "sensitive", "names", "cells", "min_rows", "who",
"limit", "gap"}: a program on cells, or on symbols where cells is 0. It prints a line of JSON.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import rows_tables
from scipy.optimize import linprog
from scipy.sparse import coo_array
from target_process import peak

import lowlift as ll
from lowlift._arrays import Floats
from lowlift._distortion.distances import distances_of

#: A pair takes about 1 KB in HiGHS: programs of more pairs are not run.
MOST_PAIRS = 500_000


def joint_and_distances(asked: dict[str, Any]) -> tuple[ll.Joint, Any]:
    """Return counts of S by cells or by symbols, and distances between these."""
    path, sensitive, names = Path(asked["path"]), asked["sensitive"], asked["names"]
    if asked["cells"]:
        learnt = rows_tables.cells_of(path, sensitive, names, asked["cells"], asked["min_rows"])
        s = np.unique(learnt.sensitive, return_inverse=True)[1]
        counts = rows_tables.Rows({}, s).counts(learnt.cells.of)
        return ll.Joint.from_counts(counts), learnt.cells.distances
    bins = {"educ": "width:1", "female": "each"}
    joint = ll.read_joint(str(path), sensitive, names, bins=bins)
    return joint, distances_of(joint, None, None)


def ours(joint: ll.Joint, distances: Floats, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what `least_distortion` reaches."""
    release = ll.least_distortion(
        joint, ll.LIP(0.5), distances, gap=asked["gap"], time_limit=asked["limit"]
    )
    proof: Any = release.certificate
    return {
        "holds": release.audit.is_satisfied,
        "change": proof.distortion,
        "gap": (proof.distortion - proof.lower_bound) / proof.distortion,
    }


def all_pairs(joint: ll.Joint, distances: Floats, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the optimum of the program of all pairs by scipy's linprog: no mechanism is made."""
    m, lift, p = joint.n_x, joint.lift, joint.p_x
    c, d = np.divmod(np.arange(m * m), m)
    at = np.arange(m * m)
    ones = np.ones(m * m)
    law = coo_array((np.r_[ones, ones], (np.r_[c, m + d], np.r_[at, at])))
    high, low = np.exp(0.5), np.exp(-0.5)
    parts = [*(row[c] - high for row in lift), *(low - row[c] for row in lift)]
    data, rows = np.concatenate(parts), np.concatenate([d + k * m for k in range(len(parts))])
    bounds = coo_array((data, (rows, np.tile(at, len(parts)))))
    found = linprog(
        distances.ravel(), bounds, np.zeros(len(parts) * m), law, np.r_[p, p],
        method=asked["who"], options={"time_limit": asked["limit"]},
    )  # fmt: skip
    if found.status:
        return {"why": f"no answer in {asked['limit']:.0f} s"}
    return {"change": float(found.fun)}


def main() -> None:
    """Do what is asked."""
    warnings.simplefilter("ignore")
    asked = json.loads(sys.argv[1])
    joint, distances = joint_and_distances(asked)
    facts = {"n_x": joint.n_x, "n_s": joint.n_s}
    if asked["who"] != "lowlift" and joint.n_x**2 > MOST_PAIRS:
        why = f"not run, {joint.n_x**2 / 1e6:,.1f} million pairs (about 1 KB each)"
        print(json.dumps(facts | {"why": why}))
        return
    run = ours if asked["who"] == "lowlift" else all_pairs
    small = ll.Joint.random(joint.n_s, 20, seed=0)
    run(small, 1.0 - np.eye(20), asked)  # compiles
    start, before = time.perf_counter(), time.process_time()
    found = run(joint, distances, asked)
    found |= {"seconds": time.perf_counter() - start, "cpu": time.process_time() - before}
    print(json.dumps(facts | found | {"memory_mb": peak()}))


if __name__ == "__main__":
    main()
