"""The record of a run: gathered from pytest-benchmark's file, checked, written as JSON.

    {"format": "lowlift-benchmarks", "version": 1, "form": "full", "date": "...",
     "machine": {...}, "load": {"before": [1, 5, 15 minutes], "after": [...]}, "versions": {...},
     "contests": [{"group", "name", "data", "bound", "measure", "better", "tolerance",
                   "ours": ENTRY, "rivals": [ENTRY, ...], "absent": [{"who", "why"}, ...]}, ...],
     "growth": [{"plot", "curve", "size", "seconds", ...}, ...],
     "targets": [{"id", "name", "n_x", "n_s", "classes", "criterion", "limit", "seconds", "nmi",
                  "gap", "memory_mb", "goal": {"gap", "seconds", "memory_mb"} or null, "load",
                  "date", "rivals": [{"who", "seconds", "nmi", "memory_mb"} or {"who", "why"},
                                     ...]}, ...],
     "rows": [{"id", "name", "goal": {"seconds", "change", ...}, "load", "date",
               "entries": [ours, rivals: {"who", "settings", "verdict", "seconds", "cpu", "change",
                           ...} or {"who", "why"}, ...]}, ...],
     "not_run": ["...", ...]}

ENTRY has who, settings, objective, note, calls, rounds, seconds (median, low, high: the quartiles)
and, for a rival, ratio (its time over ours, round by round: median, low, high). Where all work is
done by processes of the run, cpu_ratio is the median ratio of CPU times.
"""

import json
import math
from pathlib import Path
from statistics import median, quantiles
from typing import Any

FORMAT, VERSION = "lowlift-benchmarks", 1

TOP = {
    *("format", "version", "form", "date", "machine", "load", "versions"),
    *("contests", "growth", "targets", "rows", "not_run"),
}
CONTEST = {
    *("group", "name", "data", "bound", "measure", "better", "tolerance"),
    *("ours", "rivals", "absent"),
}
ENTRY = {"who", "settings", "objective", "note", "calls", "rounds", "seconds"}
POINT = {"plot", "curve", "size", "seconds"}
TARGET = {
    *("id", "name", "n_x", "n_s", "classes", "criterion", "limit", "seconds", "nmi", "gap"),
    *("memory_mb", "goal", "load", "date", "rivals"),
}
ROWS = {"id", "name", "goal", "load", "date", "entries"}


def spread(values: list[float]) -> dict[str, float]:
    """Return the median and the quartiles; of fewer than three values, the extremes."""
    if len(values) < 3:
        return {"median": median(values), "low": min(values), "high": max(values)}
    low, _, high = quantiles(values, n=4, method="inclusive")
    return {"median": median(values), "low": low, "high": high}


def summary(entry: dict[str, Any], ours: dict[str, Any] | None) -> dict[str, Any]:
    """Return an entry with spreads instead of the seconds of each round."""
    seconds = entry["seconds"]
    made = {name: value for name, value in entry.items() if name != "cpu"}
    made |= {"rounds": len(seconds), "seconds": spread(seconds)}
    if ours is not None:
        # A slow rival leaves out the later rounds.
        pairs = zip(seconds, ours["seconds"], strict=False)
        made["ratio"] = spread([theirs / own for theirs, own in pairs])
        pairs = zip(entry.get("cpu", []), ours.get("cpu", []), strict=False)
        ratios = [theirs / own for theirs, own in pairs if theirs > 0 < own]
        if ratios:
            made["cpu_ratio"] = median(ratios)
    return made


def contest_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return a contest's summary."""
    ours = record["ours"]
    if not record.get("is_here", True):
        ours = {**ours, "cpu": []}
    return {
        **record,
        "ours": summary(record["ours"], None),
        "rivals": [summary(rival, ours) for rival in record["rivals"]],
    }


def gather(raw: Path) -> tuple[list[dict[str, Any]], ...]:
    """Return the contests, points of growth, targets and rows in pytest-benchmark's file."""
    infos = [found["extra_info"] for found in json.loads(raw.read_text("utf-8"))["benchmarks"]]
    contests = [contest_of(info["contest"]) for info in infos if "contest" in info]
    kinds = ("growth", "target", "rows")
    return contests, *([info[kind] for info in infos if kind in info] for kind in kinds)


def faults(results: dict[str, Any]) -> list[str]:
    """Return what is wrong with a record, in words; empty when it has the form above."""
    found = [f"{name} is missing" for name in sorted(TOP - results.keys())]
    if found:
        return found
    if (results["format"], results["version"]) != (FORMAT, VERSION):
        found.append("format or version is another")
    for contest in results["contests"]:
        name = contest.get("name", "?")
        found += [f"{name}: {key} is missing" for key in sorted(CONTEST - contest.keys())]
        for entry in (contest.get("ours", {}), *contest.get("rivals", [])):
            found += [f"{name}: {key} is missing" for key in sorted(ENTRY - entry.keys())]
            if not _is_positive(entry.get("seconds")):
                found.append(f"{name}: seconds of {entry.get('who')} are not positive")
        for rival in contest.get("rivals", []):
            if not _is_positive(rival.get("ratio")):
                found.append(f"{name}: ratio of {rival.get('who')} is not positive")
    for part, keys in (("growth", POINT), ("targets", TARGET), ("rows", ROWS)):
        for point in results[part]:
            found += [f"{part}: {key} is missing" for key in sorted(keys - point.keys())]
    return found


def _is_positive(values: Any) -> bool:
    names = ("low", "median", "high")
    return isinstance(values, dict) and all(
        isinstance(values.get(name), float) and 0 < values[name] < math.inf for name in names
    )


def write(results: dict[str, Any], path: Path) -> None:
    """Write the record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", "utf-8")


def read(path: Path) -> dict[str, Any]:
    """Return a record.

    Raises
    ------
    ValueError
        When it has not the form above.
    """
    results: dict[str, Any] = json.loads(path.read_text("utf-8"))
    if wrong := faults(results):
        raise ValueError(f"{path.name} must be a record of a run; {wrong[0]}. Run make bench.")
    return results
