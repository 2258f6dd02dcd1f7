"""The clinic: 100 patients, three diseases, four ages. Every number can be checked by hand."""

import math

import numpy as np

import lowlift as ll
from _pictures.drawing import Point, box, cross, dot, line, picture, polygon, words
from _pictures.triangle import Triangle

DISEASES = ("cold", "asthma", "diabetes")
AGES = ("child", "young", "middle", "senior")
COUNTS = ((15, 6, 15, 14), (3, 12, 9, 6), (2, 2, 6, 10))
BOUND = ll.ALIP(lower=0.7, upper=0.5)


def clinic() -> ll.Joint:
    """Return the counts of patients by disease (S) and age (X)."""
    return ll.Joint.from_counts(COUNTS, DISEASES, AGES)


def beliefs() -> str:
    """Draw P(s) beside P(s|x) for every age, and the lift of each bar."""
    joint = clinic()
    parts, left, base, tall = [], 40.0, 200.0, 210.0
    groups = [
        ("everyone", joint.p_s, np.ones(3)),
        *(
            (name, joint.p_s_given_x[:, x], joint.lift[:, x])
            for x, name in enumerate(joint.x_labels)
        ),
    ]
    for g, (name, belief, lifts) in enumerate(groups):
        x0 = left + g * 140
        for s in range(3):
            x, height = x0 + s * 38, belief[s] * tall
            kind = "soft" if g == 0 else "region-ink"
            parts.append(box((x, base - height), (26, height), kind, 0.85))
            if g:
                prior = base - joint.p_s[s] * tall
                parts.append(line((x - 4, prior), (x + 30, prior), "line", 1.6))
                bad = lifts[s] > math.exp(BOUND.upper) or lifts[s] < math.exp(-BOUND.lower)
                parts.append(
                    words(
                        (x + 13, base - max(height, joint.p_s[s] * tall) - 6),
                        f"×{lifts[s]:.2f}",
                        "atom-ink" if bad else "ink",
                        size=12,
                        bold=bad,
                    )
                )
            else:
                parts.append(words((x + 13, base - height - 6), f"{belief[s]:.2f}", size=12))
            parts.append(words((x + 13, base + 15), DISEASES[s][:3] + ".", "soft", size=11))
        parts.append(words((x0 + 51, base + 36), name, bold=True))
    parts.append(line((left - 10, base), (left + 5 * 140 - 30, base), "line", 1))
    return picture(
        740, 245, "What is believed about the disease, before and after the age is seen", parts
    )


def scale() -> str:
    """Draw the lifts of every age on a logarithmic axis, with the bounds."""
    joint = clinic()
    left, right, top, step = 90.0, 690.0, 58.0, 34.0
    low, high = math.log(0.4), math.log(2.25)

    def at(lift: float) -> float:
        return left + (math.log(lift) - low) / (high - low) * (right - left)

    floor, ceiling = math.exp(-BOUND.lower), math.exp(BOUND.upper)
    bottom = top + 4 * step
    parts = [
        box((at(floor), top - 22), (at(ceiling) - at(floor), 4 * step + 14), "region-ink", 0.15)
    ]
    for tick in (0.5, 0.75, 1, 1.5, 2):
        parts += [
            line(
                (at(tick), top - 22), (at(tick), bottom - 8), "line" if tick == 1 else "faint", 0.8
            ),
            words((at(tick), bottom + 9), f"×{tick:g}", "soft", size=12),
        ]
    parts += [
        words((at(floor), top - 28), f"e^−0.7 = {floor:.3f}", "region-ink", size=12),
        words((at(ceiling), top - 28), f"e^0.5 = {ceiling:.3f}", "region-ink", size=12),
    ]
    for x, name in enumerate(AGES):
        y = top + x * step
        parts.append(words((left - 14, y + 4), name, anchor="end", bold=True))
        column = joint.lift[:, x]
        parts.append(line((at(column.min()), y), (at(column.max()), y), "faint", 1))
        for lift in sorted(set(column.round(9).tolist())):
            named = [
                name
                for name, other in zip(DISEASES, column, strict=True)
                if abs(other - lift) < 1e-6
            ]
            bad = not floor <= lift <= ceiling
            text = ", ".join(named) if len(named) < len(DISEASES) else "all three"
            parts += [
                dot((at(lift), y), 6, "atom" if bad else "region"),
                words((at(lift), y - 9), text, "atom-ink" if bad else "ink", size=11),
            ]
    return picture(740, bottom + 20, "The lifts of every age on a logarithmic scale", parts)


def _atoms(triangle: Triangle, joint: ll.Joint, channel: ll.Channel, kind: str) -> list[str]:
    """Return one dot per output, its area by its mass, where its belief stands."""
    audit = ll.audit(joint, channel, BOUND)
    parts = []
    for y, mass in enumerate(audit.p_y):
        belief = audit.lift[:, y] * joint.p_s
        look = kind if audit.allowed[y] else "hollow"
        label = f"{channel.y_labels[y]}: {mass:.0%}"
        parts.append(dot(triangle.place(belief), 15 * math.sqrt(mass), look, 1.4, label))
    return parts


def _named(triangle: Triangle, joint: ll.Joint, shifts: dict[str, Point]) -> list[str]:
    out = []
    for x, name in enumerate(joint.x_labels):
        place, shift = triangle.place(joint.p_s_given_x[:, x]), shifts[str(name)]
        anchor = "end" if shift[0] < 0 else "start"
        out.append(
            words((place[0] + shift[0], place[1] + shift[1]), str(name), anchor=anchor, size=12)
        )
    return out


def _zoomed(x: float, y: float, side: float) -> Triangle:
    return Triangle(x, y, side, DISEASES)


def one_picture() -> str:
    """Draw the region, and the atoms of three releases: X itself, merged, and random response."""
    joint = clinic()
    releases = [
        ("publish the age", ll.Channel.identity(joint)),
        ("merge", ll.optimal_merging(joint, BOUND).channel),
        ("random response", ll.random_response(joint, BOUND).channel),
    ]
    parts = []
    for k, (title, channel) in enumerate(releases):
        triangle = _zoomed(140 + k * 262, 250, 232)
        hull = [triangle.place(joint.p_s_given_x[:, x]) for x in (1, 0, 3)]
        audit = ll.audit(joint, channel, BOUND)
        parts += [
            triangle.frame(12),
            triangle.region(BOUND, joint.p_s, 0.18),
            polygon(hull, "faint", 1, 1, "2 3"),
            *_atoms(triangle, joint, channel, "atom"),
            cross(triangle.place(joint.p_s), 4.5),
            words((triangle.x, 18), title, bold=True, size=14),
            words((triangle.x, 290), f"NMI {audit.nmi:.3f}", size=13),
            words(
                (triangle.x, 308),
                "the bound holds"
                if audit.is_satisfied
                else f"{len(audit.violations)} of {channel.n_y} outputs break the bound",
                "ink" if audit.is_satisfied else "atom-ink",
                size=12,
            ),
        ]
    return picture(804, 318, "A region of beliefs, and the atoms of three releases", parts)


def triangle_of_beliefs() -> str:
    """Draw the triangle, the prior, the four ages, and the region."""
    joint = clinic()
    triangle = _zoomed(280, 430, 470)
    floor, ceiling = math.exp(-BOUND.lower), math.exp(BOUND.upper)
    parts = [triangle.frame(14), triangle.region(BOUND, joint.p_s, 0.18)]
    for s in range(3):
        parts += [
            triangle.grid(s, min(1, ceiling * joint.p_s[s])),
            triangle.grid(s, floor * joint.p_s[s]),
        ]
    for x in range(4):
        allowed = ll.high_risk(joint, BOUND).count(AGES[x]) == 0
        parts.append(
            dot(
                triangle.place(joint.p_s_given_x[:, x]),
                26 * math.sqrt(joint.p_x[x]),
                "region" if allowed else "hollow",
                1.4,
            )
        )
    parts += [
        triangle.prior(joint.p_s),
        *_named(
            triangle,
            joint,
            {"child": (13, 19), "young": (18, 4), "middle": (18, -4), "senior": (18, 4)},
        ),
    ]
    return picture(560, 455, "The triangle of beliefs about the disease", parts)
