"""What commands print with ``--json``: the numbers of results as plain data."""

import json
import math
from typing import TYPE_CHECKING, Any

import typer

from lowlift._guarantees import stopped_note

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift._certificates import Certificate
    from lowlift.confidence import LiftIntervals
    from lowlift.encodings import Encoded
    from lowlift.estimation import GroupEstimate
    from lowlift.workflow import Design, TableEstimate

#: How a bound is made to hold for more people than the table has.
_INSTEAD = " For a bound that holds in the population use --for population."
#: How a search is given more seconds.
TIME_LIMIT = "--time-limit {seconds}"


def print_json(content: Any) -> None:
    """Print plain data as JSON; what is not finite as text."""
    typer.echo(json.dumps(_plain(content), indent=1, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def audit_data(audit: "Audit") -> dict[str, Any]:
    """Return an audit's numbers."""
    confidence = getattr(audit.criterion, "confidence", None)
    return {
        "criterion": str(audit.criterion),
        "for": "table" if confidence is None else "population",
        "confidence": confidence,
        "is_satisfied": audit.is_satisfied,
        "violations": len(audit.violations),
        "outputs": audit.channel.n_y,
        "nmi": audit.nmi,
        "min_lift_leakage": audit.min_lift_leakage,
        "max_lift_leakage": audit.max_lift_leakage,
        "leakage": {"lower": audit.leakage.lower, "upper": audit.leakage.upper},
    }


def interval_data(intervals: "LiftIntervals") -> dict[str, Any]:
    """Return what a sample would support."""
    return {
        "lift_low": float(intervals.low.min()),
        "lift_high": float(intervals.high.max()),
        "zero_cells": intervals.zero_cells,
    }


def sample_warnings(intervals: "LiftIntervals", audit: "Audit") -> list[str]:
    """Return what to know if the table is a sample; printed, and in what ``--json`` prints."""
    from lowlift.criteria import Population
    from lowlift.report import limits

    if limits.is_too_small(intervals, audit):
        return [f"{limits.TOO_SMALL} {limits.needed_rows(audit)}".rstrip() + _INSTEAD]
    if isinstance(audit.criterion, Population) and not audit.is_satisfied:
        return [f"{limits.UNSUPPORTED} {limits.needed_rows(audit)}".rstrip()]
    return []


def design_data(made: "Design") -> dict[str, Any]:
    """Return a design's numbers."""
    certificate = made.release.certificate
    return {
        "mechanism": made.chosen.name,
        "reason": made.chosen.reason,
        "encoding": made.encoded.name,
        "bins_from_data": list(made.spec.from_data),
        "rows": made.spec.rows,
        "published": audit_data(made.encoded.release.audit),
        "share_changed": made.encoded.share_changed,
        **_proven(certificate),
        **stopped_data(certificate),
        **_changes(made.encoded),
        "left_out": dict(made.left_out),
        "fingerprint": made.encoded.release.fingerprint,
        "sample": interval_data(made.intervals),
        "warnings": sample_warnings(made.intervals, made.encoded.release.audit),
        "notes": list(made.notes),
    }


def is_distortion(certificate: "Certificate | None") -> bool:
    return certificate is not None and certificate.scope == "distortion"


def _proven(certificate: Any) -> dict[str, Any]:
    """Return what is proven: how much can be kept, or how little must change."""
    if is_distortion(certificate):
        ends = {"distortion": certificate.distortion, "lower_bound": certificate.lower_bound}
        return {"upper_bound": None, **ends}
    return {"upper_bound": certificate.upper_bound if certificate else None}


def _changes(encoded: "Encoded") -> dict[str, Any]:
    """Return what happens to rows, where rows are published."""
    from lowlift.encodings.rows import RowChanges

    if encoded.name != "rows":
        return {}
    found = RowChanges.of(encoded.release)
    return {"cells": found.cells, "parts": found.parts, "share_staying": found.stay}


def stopped_data(certificate: "Certificate | None") -> dict[str, Any]:
    """Return whether the search was stopped, after how many seconds, and how far it came."""
    gap = None if certificate is None or math.isnan(certificate.gap) else certificate.gap
    return {
        "gap": gap,
        "stopped_after": certificate.stopped_after if certificate else None,
        "stopped_note": stopped_note(certificate, TIME_LIMIT),
    }


def release_data(encoded: "Encoded") -> dict[str, Any]:
    """Return a release's numbers as it is published, and what each output stands for."""
    release = encoded.release
    p_x_given_y, labels = release.p_x_given_y, release.joint.x_labels
    published = encoded.labels
    if encoded.name == "rows":  # a cell is told by its conditions
        labels, published = encoded.x_texts, encoded.texts
    outputs = [
        {
            "code": y,
            "published": published[y],
            "share": float(release.audit.p_y[y]),
            "min_lift": float(release.audit.lift[:, y].min()),
            "max_lift": float(release.audit.lift[:, y].max()),
            "stands_for": [
                {"value": labels[x], "probability": float(p_x_given_y[x, y])}
                for x in sorted(release.channel.atom(y)[0])
            ],
        }
        for y in range(release.channel.n_y)
    ]
    sizes = {"s": release.joint.n_s, "x": release.joint.n_x, "y": release.channel.n_y}
    data = audit_data(release.audit) | {"mechanism": release.mechanism}
    data |= _proven(release.certificate) | _changes(encoded)
    data |= {"encoding": encoded.name, "share_changed": encoded.share_changed}
    data |= stopped_data(release.certificate)
    return data | {"sizes": sizes, "fingerprint": release.fingerprint, "channel": outputs}


def estimate_data(found: "TableEstimate") -> dict[str, Any]:
    """Return the estimate of P(X) with its intervals."""
    result = found.estimate
    values = [
        {
            "value": label,
            "estimate": float(result.p_x[k]) if result.is_identified[k] else None,
            "low": float(result.low[k]),
            "high": float(result.high[k]),
        }
        for k, label in enumerate(found.codebook.x_labels)
    ]
    labels = result.x_labels
    totals = [
        {
            "values": [labels[x] for x in block.symbols],
            "total": block.total,
            "low": block.low,
            "high": block.high,
        }
        for block in result.blocks
        if len(block.symbols) > 1
    ]
    data = {"rows": found.rows, "level": result.level, "is_consistent": result.is_consistent}
    return data | {"x": values, "totals": totals, "notes": result.notes}


def groups_data(found: "GroupEstimate") -> dict[str, Any]:
    """Return shares and means by groups; what was not estimated is None."""
    groups = [
        {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in record.items()
        }
        for record in found.records()
    ]
    data = {"rows": found.rows, "level": found.level, "groups": groups}
    return data | {"notes": found.notes}
