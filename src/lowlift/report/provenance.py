"""Where a report comes from: parameters, versions, hashes, how rows were drawn."""

import platform
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lowlift._guarantees import promise_in_full
from lowlift._receipts import Receipt
from lowlift._version import __version__
from lowlift._wording import joined
from lowlift.criteria import (
    ALIP,
    LDP,
    LIP,
    AlphaLift,
    BuiltIn,
    Chi2Lift,
    EveryPrior,
    L1Lift,
    MaxLift,
    plain_criterion,
)
from lowlift.report.records import Number
from lowlift.tables import Origin

if TYPE_CHECKING:
    from lowlift.report.report import Report

#: Criteria whose numbers are budgets.
_IN_NATS = (ALIP, LDP, LIP, AlphaLift, Chi2Lift, EveryPrior, L1Lift, MaxLift)
_MISSING = {"value": "a value of its own", "drop": "rows left out", "error": "refused"}
_DRAWS = {
    "fresh": "from the operating system's entropy: no seed, no key",
    "keyed": "by a key and an id column: the same release repeats the same draws; no seed",
    "seeded": "by a seed, for tests: who knows it can undo the draws. Not for publication",
}


def provenance_of(report: "Report") -> tuple[Number, ...]:
    """Return the lines of the section on provenance."""
    joint, encoded, publication = report.raw.joint, report.encoded, report.publication
    found = [*_bound(report), *_in_full(report)]
    if encoded is not None:
        found += [
            Number("Mechanism", report.mechanism or "not said", report.reason),
            Number("Published as", encoded.name),
            Number("Fingerprint of the channel", encoded.release.fingerprint),
        ]
    sizes = f"{joint.n_s:,} of S, {joint.n_x:,} of X"
    found.append(Number("Values", sizes + (f", {encoded.channel.n_y:,} of Y" if encoded else "")))
    if report.origin is not None:
        found += _of_origin(report.origin, is_release=report.is_release)
    if publication is not None:
        found += _of_publication(publication)
    return (*found, *_of_software(report.made_at, publication))


def public_provenance(report: "Report") -> tuple[Number, ...]:
    """Return what a reader may know: the bound, the method, the published file, versions."""
    found, publication = [*_bound(report), *_in_full(report)], report.publication
    if report.encoded is not None:
        found.append(Number("Mechanism", report.mechanism or "not said"))
        found.append(Number("Published as", report.encoded.name))
    if report.origin is not None:
        found += _of_schema(report.origin, is_release=report.is_release)
    if publication is not None:
        if "://" in publication.output:  # which names a host
            publication = replace(publication, output="a table of a database")
        found += _of_output(publication)
    return (*found, *_of_software(report.made_at, publication))


def _bound(report: "Report") -> list[Number]:
    """Return the limit by name; nothing for a curve, which has many."""
    if report.is_curve:
        return []
    criterion = report.raw.criterion
    plain = plain_criterion(criterion)
    is_nats = isinstance(plain, _IN_NATS) or getattr(plain, "unit", "") == "nats"
    return [Number("Limit", str(criterion), "numbers in nats" if is_nats else "")]


def _in_full(report: "Report") -> list[Number]:
    """Return the limit as a formula; nothing for a criterion of a user, which has no words here."""
    criterion = report.raw.criterion
    if report.is_curve or not isinstance(criterion, BuiltIn):
        return []
    words = promise_in_full(criterion, report.is_satisfied)
    return [Number("Limit in full", words.replace("sensitive value", "protected value"))]


def _of_origin(origin: Origin, *, is_release: bool) -> list[Number]:
    name = "Designed on" if is_release and origin.sha256 else "Table"
    return [
        *_of_schema(origin, is_release=is_release),
        Number(name, origin.source, f"{origin.rows:,} rows"),
        Number("SHA-256 of that table", origin.sha256 or "not a file"),
        Number("Missing values", _MISSING.get(origin.missing, origin.missing)),
    ]


def _of_schema(origin: Origin, *, is_release: bool) -> list[Number]:
    name = "Columns published (X)" if is_release else "Columns to publish (X)"
    return [
        Number("Columns protected (S)", joined(origin.schema.sensitive)),
        Number(name, joined(origin.schema.released)),
    ]


def _of_publication(publication: Receipt) -> list[Number]:
    left = {"with missing values": publication.dropped, "unseen": publication.unseen}
    parts = [f"{number:,} {words} left out" for words, number in left.items() if number]
    rows = f"{publication.rows_in:,} in, {publication.rows_out:,} out"
    return [
        Number("Published from", publication.source),
        Number("SHA-256 of the input", publication.source_sha256 or "not a file"),
        Number("Rows", rows, ", ".join(parts)),
        *_of_output(publication),
    ]


def _of_output(publication: Receipt) -> list[Number]:
    word = publication.draws.partition(":")[0]
    found = [
        Number("Published file", publication.output),
        Number("SHA-256 of the output", publication.output_sha256 or "not a file"),
        Number("Draws", word, _DRAWS.get(word, "")),
    ]
    if publication.kept:
        found.append(Number("Kept columns", joined(publication.kept)))
    return found


def _of_software(made_at: str, publication: Receipt | None) -> list[Number]:
    versions = f"lowlift {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    found = [Number("Report made", made_at), Number("Report made with", versions)]
    if publication is not None:
        text = f"lowlift {publication.lowlift}, Python {publication.python}"
        found.insert(0, Number("Written with", text))
    return found
