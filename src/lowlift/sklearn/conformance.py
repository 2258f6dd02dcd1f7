"""Which of scikit-learn's own checks cannot apply, and why."""

from typing import Any

from lowlift.sklearn.parameters import MERGING
from lowlift.sklearn.privatizer import LiftPrivatizer

_TEXTS = "it subtracts one output from another, and released values are texts"
_DRAWS = "each row has a draw of its own, and a seed gives the draws by position"
_SUBTRACTING = (
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_pipeline_consistency",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
)
_BY_POSITION = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")


def expected_failed_checks(privatizer: LiftPrivatizer) -> dict[str, str]:
    """Return the checks of scikit-learn that cannot hold for these parameters, with the reason.

    None for a mechanism that merges and the encoding "codes": scikit-learn's contract then
    applies in full. Pass it on as ``check_estimator(..., expected_failed_checks=...)``; there,
    `bins` must be one declaration and ``unseen="most_common"``, as its tables are random reals.

    Examples
    --------
    >>> expected_failed_checks(LiftPrivatizer("y", mechanism="subset-merging", encoding="codes"))
    {}
    >>> sorted(expected_failed_checks(LiftPrivatizer("y", encoding="codes", random_state=0)))
    ['check_methods_sample_order_invariance', 'check_methods_subset_invariance']
    """
    found: dict[str, Any] = {}
    if privatizer.encoding != "codes":
        found |= dict.fromkeys(_SUBTRACTING, _TEXTS)
    elif privatizer.mechanism not in MERGING:
        found |= dict.fromkeys(_BY_POSITION, _DRAWS)
    return found
