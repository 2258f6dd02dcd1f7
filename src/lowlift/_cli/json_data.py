"""What commands print with ``--json``: all that their screens say, as plain data."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lowlift._guarantees import Ends, limited, measured, stopped_note
from lowlift._wording import of_rows
from lowlift.tables.schema import OF_CELLS

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift._cells.utility import Utility
    from lowlift._certificates import Certificate
    from lowlift.confidence import LiftIntervals
    from lowlift.criteria import Criterion
    from lowlift.encodings import Encoded
    from lowlift.estimation import GroupEstimate
    from lowlift.workflow import Design, Receipt, Sanitized, TableAudit, TableEstimate, Verification

#: How a bound is made to hold for more people than the table has.
_INSTEAD = " For a bound that holds in the population use --for population."
_EVERYBODY = "Are these rows everybody, or a sample? For a sample use --for population."
#: Values with extreme lifts that are told.
_EXTREMES = 12
#: How a search is given more seconds.
TIME_LIMIT = "--time-limit {seconds}"


def word(is_satisfied: bool) -> str:
    """Return the verdict in a word."""
    return "holds" if is_satisfied else "DOES NOT HOLD"


def verdict(audit: "Audit", *, is_rows: bool = False) -> str:
    """Return the verdict in a sentence."""
    ends = Ends(audit.min_lift_leakage, audit.max_lift_leakage)
    is_limited = audit.is_satisfied and math.isfinite(ends.lower)
    lifts = limited(ends) if is_limited else measured(audit.lift.min(), audit.lift.max())
    lifts = of_rows(lifts) if is_rows else lifts
    return f"{audit.criterion} {word(audit.is_satisfied)}: {lifts}."


def audit_data(audit: "Audit", *, is_rows: bool = False) -> dict[str, Any]:
    """Return an audit's numbers."""
    confidence = getattr(audit.criterion, "confidence", None)
    return {
        "criterion": str(audit.criterion),
        "for": "table" if confidence is None else "population",
        "confidence": confidence,
        "is_satisfied": audit.is_satisfied,
        "verdict": verdict(audit, is_rows=is_rows),
        "violations": len(audit.violations),
        "outputs": audit.channel.n_y,
        "nmi": audit.nmi,
        "min_lift_leakage": audit.min_lift_leakage,
        "max_lift_leakage": audit.max_lift_leakage,
        "leakage": {"lower": audit.leakage.lower, "upper": audit.leakage.upper},
    }


def table_audit_data(found: "TableAudit") -> dict[str, Any]:
    """Return the verdict on a table's columns as they are, and the riskiest values."""
    spec, sample = found.spec, sample_data(found.intervals, found.audit)
    return audit_data(found.audit) | {
        "is_satisfied": found.is_satisfied,
        "source": spec.source,
        "rows": spec.rows,
        "sensitive": [column.name for column in spec.sensitive],
        "released": [column.name for column in spec.released],
        "bins_from_data": list(spec.from_data),
        "columns": {name: audit_data(part) for name, part in found.columns},
        "extremes": extremes(found.audit),
        "sample": sample,
        "warnings": [*sample["warnings"], *found.warnings],
        "notes": list(found.notes),
    }


def extremes(audit: "Audit") -> list[dict[str, Any]]:
    """Return the values with the highest and with the lowest lifts, in turn."""
    s, labels = audit.joint.s_labels, audit.channel.y_labels
    return [
        {
            "value": labels[y],
            "share": float(audit.p_y[y]),
            "max_lift": float(audit.lift[:, y].max()),
            "max_lift_of": s[int(audit.lift[:, y].argmax())],
            "min_lift": float(audit.lift[:, y].min()),
            "min_lift_of": s[int(audit.lift[:, y].argmin())],
            "is_allowed": bool(audit.allowed[y]),
        }
        for y in audit.most_extreme(_EXTREMES)
    ]


def sample_data(
    intervals: "LiftIntervals", audit: "Audit", *, is_rows: bool = False
) -> dict[str, Any]:
    """Return what to know if the table is a sample; `notes` are the sentences of the screen."""
    from lowlift.criteria import Population
    from lowlift.report import limits

    asked = [] if isinstance(audit.criterion, Population) else [_EVERYBODY]
    notes = [*asked, limits.promise_note(audit.criterion, intervals, is_rows=is_rows)]
    if intervals.zero_cells:
        notes.append(limits.never_together(intervals.zero_cells, is_rows=is_rows))
    return {
        "lift_low": float(intervals.low.min()),
        "lift_high": float(intervals.high.max()),
        "zero_cells": intervals.zero_cells,
        "notes": notes,
        "warnings": sample_warnings(intervals, audit),
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
    from lowlift.workflow import guesses

    certificate, audit = made.release.certificate, made.encoded.release.audit
    is_rows = made.encoded.name in OF_CELLS
    before, after = guesses(audit.joint, audit.channel)
    sample = sample_data(made.intervals, audit, is_rows=is_rows)
    return {
        "source": made.spec.source,
        "mechanism": made.chosen.name,
        "reason": made.chosen.reason,
        "encoding": made.encoded.name,
        "bins_from_data": list(made.spec.from_data),
        "rows": made.spec.rows,
        "published": audit_data(audit, is_rows=is_rows),
        "sizes": _sizes(made.encoded),
        "share_changed": made.encoded.share_changed,
        "values_kept": _values_kept(made),
        "best_guess": {"before": before, "after": after},
        **_proven(certificate),
        **stopped_data(certificate),
        **changes(made.encoded),
        "left_out": dict(made.left_out),
        "fingerprint": made.encoded.release.fingerprint,
        "sample": sample,
        "warnings": list(sample["warnings"]),
        "notes": list(made.notes),
        "not_promised": limits_of_rows(audit.criterion) if is_rows else None,
    }


def _values_kept(made: "Design") -> dict[str, Any] | None:
    """Return the share of values of published rows that stay as they are, by column."""
    kept = made.kept
    if kept is None:
        return None
    columns = {
        name: {"share": share, "by_chance": chance}
        for name, share, chance in zip(kept.names, kept.shares, kept.by_chance, strict=True)
    }
    whole = {"share": kept.share, "by_chance": kept.chance, "nearness": kept.nearness}
    return whole | {"columns": columns}


def limits_of_rows(criterion: "Criterion") -> str:
    """Return what is not promised of published rows."""
    from lowlift.criteria import Population
    from lowlift.report.limits import WHOSE_ROW

    start = f"Not promised: {WHOSE_ROW.text[0].lower()}{WHOSE_ROW.text[1:]} Nor is a second release"
    if isinstance(criterion, Population):
        return f"{start} of the same rows covered."
    return f"{start} of the same rows covered, nor the population, if the table is a sample of it."


def receipt_data(receipt: "Receipt") -> dict[str, Any]:
    """Return what was published, and what to know of it."""
    return asdict(receipt) | {"notes": receipt_notes(receipt)}


def receipt_notes(receipt: "Receipt") -> list[str]:
    """Return what the bound does not cover."""
    unchecked = "S is not in this table: the bound was not checked on it, and may not hold."
    return [
        *([] if receipt.checked_on_this_table else [unchecked]),
        *(f"Outside the guarantee: {item}." for item in receipt.outside_the_guarantee),
    ]


def verification_data(found: "Verification") -> dict[str, Any]:
    """Return each check."""
    checks = [asdict(check) for check in found.checks]
    return {"is_verified": found.is_ok, "except": found.exceptions, "checks": checks}


def published_data(made: "Sanitized", files: dict[str, str]) -> dict[str, Any]:
    """Return what was designed, published and verified."""
    designed, verified = design_data(made.design), verification_data(made.verification)
    every = dict.fromkeys((*designed["warnings"], *made.warnings))
    data = {"design": designed, "receipt": receipt_data(made.receipt), "files": dict(files)}
    return data | {"warnings": list(every)} | verified


def is_distortion(certificate: "Certificate | None") -> bool:
    return certificate is not None and certificate.scope == "distortion"


def _sizes(encoded: "Encoded") -> dict[str, int]:
    joint = encoded.release.joint
    return {"s": joint.n_s, "x": joint.n_x, "y": encoded.release.channel.n_y}


def _proven(certificate: Any) -> dict[str, Any]:
    """Return what is proven: how much can be kept, or how little must change."""
    scope = {"proven_for": certificate.scope if certificate else None}
    if is_distortion(certificate):
        ends = {"distortion": certificate.distortion, "lower_bound": certificate.lower_bound}
        return scope | {"upper_bound": None, **ends}
    return scope | {"upper_bound": certificate.upper_bound if certificate else None}


def changes(encoded: "Encoded") -> dict[str, Any]:
    """Return what happens to rows, where rows are published."""
    from lowlift.encodings.rows import RowChanges

    if encoded.name not in OF_CELLS:
        return {}
    found = RowChanges.of(encoded.release)
    data = {"cells": found.cells, "parts": found.parts, "share_staying": found.stay}
    return data | {"columns_published": list(encoded.names)}


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
    if encoded.name in OF_CELLS:  # a cell is told by its conditions
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
    data = audit_data(release.audit, is_rows=encoded.name in OF_CELLS)
    data |= {"mechanism": release.mechanism}
    data |= _proven(release.certificate) | changes(encoded)
    data |= {"encoding": encoded.name, "share_changed": encoded.share_changed}
    data |= stopped_data(release.certificate)
    return data | {"sizes": _sizes(encoded), "fingerprint": release.fingerprint, "channel": outputs}


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


def utility_data(found: "Utility") -> dict[str, Any]:
    """Return what an analyst gets; `facts` are the sentences of the screen."""
    from lowlift._cells.utility import CONFIDENTIAL, OTHER_PROMISE

    return asdict(found) | {
        "columns": [one._asdict() for one in found.columns],
        "scores": [score._asdict() for score in found.scores],
        "facts": dict(found.facts),
        "notes": [OTHER_PROMISE, CONFIDENTIAL],
    }
