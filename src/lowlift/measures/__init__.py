"""Numbers that say how much Y reveals of S or keeps of X.

Each takes a joint and a channel. Information quantities are in nats; lifts and the measures built
on them (Definitions 5 and 6 of the paper) are plain ratios, one per output. All are floats for
display: `lowlift.audit` decides.
"""

from lowlift.measures.averages import (
    arimoto_information,
    bayes_vulnerability,
    chi2_divergence,
    entropy,
    maximal_leakage,
    mutual_information,
    normalized_mutual_information,
    sibson_information,
    total_variation,
)
from lowlift.measures.outputs import (
    LocalDifferentialPrivacy,
    alpha_lift,
    alpha_lift_inverse,
    chi2_lift,
    chi2_lift_inverse,
    l1_lift,
    l1_lift_inverse,
    lift,
    local_differential_privacy,
    log_lift,
    max_lift,
    min_lift,
)

__all__ = [
    "LocalDifferentialPrivacy",
    "alpha_lift",
    "alpha_lift_inverse",
    "arimoto_information",
    "bayes_vulnerability",
    "chi2_divergence",
    "chi2_lift",
    "chi2_lift_inverse",
    "entropy",
    "l1_lift",
    "l1_lift_inverse",
    "lift",
    "local_differential_privacy",
    "log_lift",
    "max_lift",
    "maximal_leakage",
    "min_lift",
    "mutual_information",
    "normalized_mutual_information",
    "sibson_information",
    "total_variation",
]
