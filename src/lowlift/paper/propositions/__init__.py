"""Every inequality of Propositions 1 to 7 and Theorem 1, printed and corrected, on many cases.

A case is a positive table of counts and a channel of whole weights. Its budgets are as tight as can
be: e**upper is the largest lift u, e**-lower the smallest lift d. Floats say how large a slack is;
a slack within 1e-9 of zero, and every violation, is decided in rationals and enclosures.
"""

from lowlift.paper.propositions.claims import Claim, try_propositions

__all__ = ["Claim", "try_propositions"]
