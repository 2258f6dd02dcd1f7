"""The smallest counter-examples known, as tables of counts."""

__all__ = ["CYCLIC", "LIKELY", "ONE_RISKY_SYMBOL", "RARE", "WORSE_PARTNER"]

#: LDP publishes both symbols, ALIP randomises the first, alone: that changes nothing.
ONE_RISKY_SYMBOL = (((2, 9), (1, 9)), 0.6, 0.5)
#: X_H is one symbol for LDP and two for ALIP; the one takes a large symbol in.
WORSE_PARTNER = (((5, 4, 2, 1), (4, 6, 1, 4)), 1.0, 0.5)
#: P_S = (.2, .8), lifts (.2, 1.2) and (1.2, .95).
RARE = ((8, 192), (192, 608))
#: P_S uniform, one lift of 3/13 and two of 18/13 per symbol; no 2 x n table breaks 1(2).
CYCLIC = ((1, 6, 6), (6, 1, 6), (6, 6, 1))
#: P_S = (.9, .1), lifts (.9, 1.9) for the first symbol.
LIKELY = ((81, 819), (19, 81))
