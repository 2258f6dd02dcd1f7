"""P(X) back from what was published, with intervals.

The shares r(y) of the outputs are ``r = A p`` with ``A(y, x) = P(y|x)`` and p = P(X). The estimate
maximises ``sum_y n(y) log r(y)`` over all p, from the channel alone: what a codebook says of P(X)
does not enter, it would come back as its own confirmation. The intervals are the smallest and the
largest p(x) for which every r(y) lies in its own interval: true also where p is not determined.
"""

from lowlift.estimation.estimates import Block, Estimate, estimate
from lowlift.estimation.groups import Group, GroupEstimate, Interval

__all__ = ["Block", "Estimate", "Group", "GroupEstimate", "Interval", "estimate"]
