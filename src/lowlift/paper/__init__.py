"""The paper's figures and propositions, each with our number beside it.

`reproduce` writes them into a folder; `printed` has the points that the paper prints, and
`EXPERIMENTS` what each of its figures plots. `implied_measures` and `implied_lifts` are the bounds
of its propositions. Needs ``pip install 'lowlift[paper]'``.

The work is spread over joints with joblib. To use a cluster, say so and leave `jobs` out::

    with joblib.parallel_config(backend="dask"):   # after distributed.Client("scheduler:8786")
        lowlift.paper.reproduce("reproduction")
"""

from lowlift.paper.experiments import EXPERIMENTS
from lowlift.paper.implied import ImpliedLifts, ImpliedMeasures, implied_lifts, implied_measures
from lowlift.paper.points import histogram, printed
from lowlift.paper.propositions import try_propositions
from lowlift.paper.reproduction import FIGURES, reproduce

__all__ = [
    "EXPERIMENTS",
    "FIGURES",
    "ImpliedLifts",
    "ImpliedMeasures",
    "histogram",
    "implied_lifts",
    "implied_measures",
    "printed",
    "reproduce",
    "try_propositions",
]
