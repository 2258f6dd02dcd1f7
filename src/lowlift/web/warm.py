"""What every job finds loaded: imported once, by the server that jobs fork from.

Kernels that are not compiled yet are left to the first job that searches, so that tables can be
read meanwhile.
"""

import contextlib
import math
import warnings

from lowlift import workflow
from lowlift.criteria import ALIP, LDP, L1Lift
from lowlift.datasets import titanic
from lowlift.errors import LowliftError
from lowlift.kernels.compilation import is_compiled
from lowlift.report import page

__all__: list[str] = []


def _run() -> None:
    joint = titanic()
    columns = ()
    spec = workflow.Spec(columns, columns, "value", "", 0, None)
    for bound in (ALIP(0.5, 0.5), LDP(1.0), L1Lift(math.inf, 0.5)):
        for name in ("subset-merging", "random-response"):
            made = workflow.design_counted(joint, spec, bound, mechanism=name, time_limit=5.0)
    page(workflow.report_of(made))


with contextlib.suppress(LowliftError), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    if is_compiled("merging", "search"):
        _run()
