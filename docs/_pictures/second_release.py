"""What a second release adds: refined, and drawn anew."""

import numpy as np

import lowlift as ll
from _pictures.tradeoffs import for_both_themes
from lowlift.composition import audit_together
from lowlift.figures import Curve, Panel, legend, panel_svg

FIRST = 0.25


def refined() -> str:
    """Draw NMI over the total budget, of a refinement and of a release designed at once."""
    joint = ll.Joint.random(5, 17, seed=0)
    first = ll.random_response(joint, ll.LIP(FIRST))
    totals = np.round(np.arange(FIRST, 1.26, 0.125), 3)
    at_once = [ll.random_response(joint, ll.LIP(float(total))).audit.nmi for total in totals]
    given = [ll.refine(first, ll.LIP(float(total))).nmi for total in totals]
    curves = (
        Curve("designed at once", totals, np.array(at_once), colour=0),
        Curve("refined from LIP(0.25)", totals, np.array(given), colour=2),
        Curve("LIP(0.25) alone", totals, np.full(len(totals), first.audit.nmi), colour=3),
    )
    return _drawn(Panel("What is kept", "total budget ε", "NMI", curves))


def drawn_anew() -> str:
    """Draw the leakage of fresh draws of one release, and of the same draws published again."""
    joint = ll.Joint.random(5, 17, seed=0)
    release = ll.random_response(joint, ll.LIP(FIRST))
    times = np.arange(1, 6)
    found = [audit_together(joint, [release.channel] * int(k), release.criterion) for k in times]
    below, above = (
        np.array([getattr(each, f"{side}_lift_leakage") for each in found])
        for side in ("min", "max")
    )
    curves = (
        Curve("fresh draws, below", times, below, "marker", 2),
        Curve("fresh draws, above", times, above, "marker", 0),
        Curve("the same draws", times, np.full(len(times), FIRST), "marker", 3),
    )
    return _drawn(Panel("What is revealed", "publications of LIP(0.25)", "leakage (nats)", curves))


def _drawn(panel: Panel) -> str:
    keys = "".join(f"<li>{entry.svg} {entry.label}</li>" for entry in legend([panel]))
    chart = panel_svg(panel, width=6.4, height=3.4)
    return for_both_themes(f'{chart}<ul class="legend">{keys}</ul>')
