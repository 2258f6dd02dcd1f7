"""What a bound for the population costs, by the number of rows, and in simulations."""

import json
from pathlib import Path

import numpy as np

import lowlift as ll
from _pictures.tradeoffs import for_both_themes
from lowlift.figures import Curve, Panel, legend, panel_svg

#: What benchmarks/population.py measured.
STORED = Path(__file__).resolve().parents[2] / "benchmarks" / "population.json"
ROWS = (1_100, 2_201, 4_402, 11_005, 22_010, 66_030, 220_100)


def kept() -> str:
    """Draw NMI over the rows for designs for the population and for the table."""
    whole, bound = ll.datasets.titanic(), ll.LIP(0.5)
    best = ll.random_response(whole, bound).audit.nmi
    found: dict[str, list[float]] = {"random response": [], "subset merging": []}
    for rows in ROWS:
        counts = np.maximum(np.rint(whole.p_sx * rows), whole.p_sx > 0).astype(int)
        joint, asked = ll.Joint.from_counts(counts), ll.Population(bound)
        release = ll.random_response(joint, asked, gap=5e-3, time_limit=10)
        found["random response"].append(release.audit.nmi)
        found["subset merging"].append(ll.subset_merging(joint, asked).audit.nmi)
    x = np.array(ROWS)
    curves = [Curve("for the table, any number of rows", x, np.full(len(x), best), colour=1)]
    for colour, (name, values) in enumerate(found.items()):
        curves.append(Curve(f"for the population, {name}", x, np.array(values), colour=2 * colour))
    return _drawn(Panel("NMI against the rows", "rows", "NMI", tuple(curves), x_scale="log"))


def simulated() -> str:
    """Draw what designs on samples of 10,000 rows keep under each of the 20 populations."""
    lines = json.loads(STORED.read_text(encoding="utf-8"))["designs"]
    asked = [line for line in lines if _is_simulated(line)]
    asked.sort(key=lambda line: float(line["knows"]))
    x = np.arange(1, len(asked) + 1)
    parts = {
        "knows the population": ("knows", 1),
        "for the table": ("table_nmi", 3),
        "for the population": ("nmi", 0),
    }
    curves = []
    for name, (key, colour) in parts.items():
        told = ""
        if key != "knows":
            kind = "table_" if key == "table_nmi" else ""
            broken = sum(line[f"{kind}broken"] for line in asked)
            samples = sum(line[f"{kind}samples"] for line in asked)
            told = f", broken in {broken:,} of {samples:,} designs"
        values = np.array([line[key] for line in asked])
        curves.append(Curve(name + told, x, values, "marker", colour))
    return _drawn(Panel("NMI under the population", "population", "NMI", tuple(curves)))


def _is_simulated(line: dict[str, object]) -> bool:
    found = line["criterion"], line["rows"], line["is_target"]
    return found == ("LIP(.5)", 10_000, False)


def _drawn(panel: Panel) -> str:
    keys = "".join(f"<li>{entry.svg} {entry.label}</li>" for entry in legend([panel]))
    drawn = panel_svg(panel, width=6.4, height=3.6)
    return for_both_themes(f'{drawn}<ul class="legend">{keys}</ul>')
