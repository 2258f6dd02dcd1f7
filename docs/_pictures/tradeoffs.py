"""What bounds cost, on real tables."""

import numpy as np

import lowlift as ll
from lowlift.figures import Curve, Panel, legend, panel_svg


def titanic() -> str:
    """Draw NMI over the budget for three mechanisms on the Titanic's table."""
    joint, budgets = ll.datasets.titanic(), np.arange(0.1, 4.01, 0.1)
    criteria = [ll.ALIP.split(float(budget), 0.5) for budget in budgets]
    curves = []
    for colour, mechanism in (
        (3, ll.watchdog),
        (2, ll.subset_merging),
        (1, ll.optimal_merging),
        (0, ll.random_response),
    ):
        sweep = ll.tradeoff(joint, mechanism, criteria)
        curves.append(Curve(mechanism.__name__, budgets, np.asarray(sweep["nmi"]), colour=colour))
    panel = Panel("NMI against the budget", "ε = lower + upper", "NMI", tuple(curves))
    keys = "".join(f"<li>{entry.svg} {entry.label}</li>" for entry in legend([panel]))
    drawn = panel_svg(panel, width=6.4, height=3.6)
    return for_both_themes(f'{drawn}<ul class="legend">{keys}</ul>')


def for_both_themes(svg: str) -> str:
    """Return a chart whose ink and ground are the page's."""
    svg = svg.replace('fill="#ffffff"', 'fill="none"')
    svg = svg.replace("#ffffff", "var(--color-background-primary)")  # edges of marks
    for colour in ("#333333", "#000000"):
        svg = svg.replace(colour, "currentColor")
    return svg.replace("#e4e4e4", "var(--color-background-border)")
