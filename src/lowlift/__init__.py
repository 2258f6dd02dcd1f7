"""Publish X, bound what it reveals of S: lifts, exact audits, mechanisms.

>>> import lowlift as ll
>>> joint = ll.Joint.random(5, 17, seed=0)
>>> release = ll.subset_merging(joint, ll.ALIP.split(2.0, 0.5))
>>> release.audit.is_satisfied
True
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lowlift import _logs as _logs  # the logger is silent unless an application asks
from lowlift._version import __version__ as __version__

if TYPE_CHECKING:
    from lowlift import datasets, errors, measures
    from lowlift._audit import Audit, audit, high_risk
    from lowlift._certificates import Certificate, verify_certificate
    from lowlift._channel import Channel
    from lowlift._distortion.certificate import DistortionCertificate
    from lowlift._draw import draw
    from lowlift._exports import export
    from lowlift._joint import Joint
    from lowlift._mechanisms.least_distortion import least_distortion
    from lowlift._mechanisms.merging import subset_merging
    from lowlift._mechanisms.optimal_merging import optimal_merging
    from lowlift._mechanisms.random_response import random_response
    from lowlift._mechanisms.refinement import Refinement
    from lowlift._mechanisms.refining import refine
    from lowlift._mechanisms.rows_needed import RowsNeeded, rows_needed
    from lowlift._mechanisms.subset_random_response import subset_random_response
    from lowlift._mechanisms.watchdog import watchdog
    from lowlift._partition import Partition
    from lowlift._release import Release
    from lowlift._sweeps import Tradeoff, tradeoff
    from lowlift._verbs import audit_table, columns, compare, estimate, sanitize, verify
    from lowlift.criteria import (
        ALIP,
        LDP,
        LIP,
        PML,
        AlphaLift,
        AtMost,
        BetaLikeness,
        Chi2Lift,
        Criterion,
        DeltaDisclosure,
        EveryPrior,
        L1Lift,
        MaxLift,
        Population,
        TCloseness,
    )
    from lowlift.errors import (
        BoundViolated,
        Infeasible,
        InvalidInput,
        LowliftError,
        LowliftWarning,
        MissingExtra,
        SolverFailed,
    )
    from lowlift.tables import Schema, read_joint

__all__ = [
    "ALIP",
    "LDP",
    "LIP",
    "PML",
    "AlphaLift",
    "AtMost",
    "Audit",
    "BetaLikeness",
    "BoundViolated",
    "Certificate",
    "Channel",
    "Chi2Lift",
    "Criterion",
    "DeltaDisclosure",
    "DistortionCertificate",
    "EveryPrior",
    "Infeasible",
    "InvalidInput",
    "Joint",
    "L1Lift",
    "LowliftError",
    "LowliftWarning",
    "MaxLift",
    "MissingExtra",
    "Partition",
    "Population",
    "Refinement",
    "Release",
    "RowsNeeded",
    "Schema",
    "SolverFailed",
    "TCloseness",
    "Tradeoff",
    "audit",
    "audit_table",
    "columns",
    "compare",
    "datasets",
    "draw",
    "errors",
    "estimate",
    "export",
    "high_risk",
    "least_distortion",
    "measures",
    "optimal_merging",
    "random_response",
    "read_joint",
    "refine",
    "rows_needed",
    "sanitize",
    "subset_merging",
    "subset_random_response",
    "tradeoff",
    "verify",
    "verify_certificate",
    "watchdog",
]

#: Where the names are: each module is loaded with the first use of one of its names, so that the
#: command line starts without NumPy.
_NAMES = {
    "_audit": "Audit audit high_risk",
    "_certificates": "Certificate verify_certificate",
    "_channel": "Channel",
    "_distortion.certificate": "DistortionCertificate",
    "_draw": "draw",
    "_exports": "export",
    "_joint": "Joint",
    "_mechanisms.least_distortion": "least_distortion",
    "_mechanisms.merging": "subset_merging",
    "_mechanisms.optimal_merging": "optimal_merging",
    "_mechanisms.random_response": "random_response",
    "_mechanisms.refinement": "Refinement",
    "_mechanisms.refining": "refine",
    "_mechanisms.rows_needed": "RowsNeeded rows_needed",
    "_mechanisms.subset_random_response": "subset_random_response",
    "_mechanisms.watchdog": "watchdog",
    "_partition": "Partition",
    "_release": "Release",
    "_sweeps": "Tradeoff tradeoff",
    "_verbs": "audit_table columns compare estimate sanitize verify",
    "criteria": "ALIP LDP LIP PML AlphaLift AtMost BetaLikeness Chi2Lift Criterion DeltaDisclosure "
    "EveryPrior L1Lift MaxLift Population TCloseness",
    "errors": "BoundViolated Infeasible InvalidInput LowliftError LowliftWarning MissingExtra "
    "SolverFailed",
    "tables": "Schema read_joint",
}
#: It has no class: a criterion bounds each output.
_MAXIMAL_LEAKAGE = (
    "Maximal leakage is a mean over outputs: PML(epsilon) keeps it at most epsilon, and "
    "measures.maximal_leakage computes it."
)
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name, or a module of this package, when it is first asked for."""
    if name in _MODULE_OF:
        globals()[name] = getattr(import_module(f"lowlift.{_MODULE_OF[name]}"), name)
        return globals()[name]
    module = f"lowlift.{name}"
    if name.startswith("__") or find_spec(module) is None:
        hint = f". {_MAXIMAL_LEAKAGE}" if name == "MaximalLeakage" else ""
        raise AttributeError(f"module 'lowlift' has no attribute {name!r}{hint}")
    return import_module(module)


def __dir__() -> list[str]:
    """Return what is promised."""
    return sorted(__all__)
