"""The random response for more symbols than can be solved: nearly equal columns as one symbol.

Every lift is within a factor e**+-w of that of its bin. So what bins are given at budgets lowered
by w holds for symbols, and no mechanism on symbols beats the bound of bins at budgets raised by w.
"""

import numpy as np

from lowlift._deadline import Deadline
from lowlift._joint import Joint
from lowlift._solver.classes import Classes, Mixture, binned
from lowlift._solver.column_generation import optimise
from lowlift._solver.growing import merge_subsets
from lowlift._solver.polytope import Polytope
from lowlift._solver.search import Limits, Outcome, State
from lowlift.criteria import BuiltIn

#: Bins of the first round for 3 values of S, and how many times as many the next round has.
_FIRST, _GROWTH = 300, 1.6
#: The next round is begun if so many times the last one's seconds are left.
_PATIENCE = 3.0
#: Bins wider than this part of the budget leave too little of it.
_WIDEST = 0.5
#: Where so many bins are still too wide, bins are of no use.
_MOST = 1000
#: The bound of a design is not used, so it need not be close.
_ROUGH = 1e-4


def optimise_bins(joint: Joint, criterion: BuiltIn, limits: Limits) -> Outcome | None:
    """Return atoms of the symbols and a bound on all mechanisms, by way of bins.

    Bins become narrower while there is time. The outcome's `bins` says in which one each symbol is,
    for the bound. None where bins would be too wide for the budgets.
    """
    return _Search(joint, criterion, limits).run()


class _Search:
    def __init__(self, joint: Joint, criterion: BuiltIn, limits: Limits) -> None:
        self.joint, self.criterion, self.limits = joint, criterion, limits
        self.gap, self.deadline, _, self.progress, self.entropy = limits
        self.atoms: Mixture = []
        self.kept = 0.0
        self.proof = Outcome([], 1.0, np.zeros(joint.n_x), 0.0, 0, (), is_stopped=True)

    def run(self) -> Outcome | None:
        """Solve narrower and narrower bins."""
        size = _FIRST * 3 / self.joint.n_s
        while True:
            before, bins = self.deadline.elapsed, binned(self.joint, int(size))
            is_wide = bins.spread > _WIDEST * min(self.criterion.lower, self.criterion.upper)
            if is_wide and size > _MOST:
                break
            if not is_wide and not self._improve(bins):
                break
            took = self.deadline.elapsed - before
            if self.deadline.left < _PATIENCE * took or len(bins) == self.joint.n_x:
                break
            size *= _GROWTH
        return self.proof._replace(atoms=self.atoms, is_stopped=True) if self.atoms else None

    def _improve(self, bins: Classes) -> bool:
        """Keep what these bins make better. Tell whether to go on."""
        half = self.deadline.earlier(max(self.deadline.left, 0.0) / 2)
        # What is proven at lower budgets is no bound here.
        lowered = self.criterion.shifted(-bins.spread)
        design = self._solved(bins, lowered, max(self.gap, _ROUGH), half, bound=1.0)
        information = sum(beta * float(v @ np.log(v)) for beta, (_, v) in design.atoms)
        if design.atoms and 1 + information / self.entropy > self.kept:
            self.atoms, self.kept = bins.split(design.atoms), 1 + information / self.entropy
        if design.is_stopped and not half.is_over:
            return False  # `progress` said so
        raised = self.criterion.shifted(bins.spread)
        proof = self._solved(bins, raised, self.gap, self.deadline, nmi=self.kept)
        if proof.upper_bound < self.proof.upper_bound:
            self.proof = proof._replace(duals=proof.duals[bins.of], bins=bins.of)
        return not proof.is_stopped and self.proof.upper_bound - self.kept > self.gap

    def _solved(
        self,
        bins: Classes,
        criterion: BuiltIn,
        gap: float,
        until: Deadline,
        *,
        nmi: float | None = None,
        bound: float | None = None,
    ) -> Outcome:
        """Return the best mixture of bins; what is told of it has this NMI or this bound."""

        def tell(state: State) -> object:
            kept = state.nmi if nmi is None else nmi
            proven = state.bound if bound is None else bound
            return self.progress is None or self.progress(state._replace(nmi=kept, bound=proven))

        blocks, _ = merge_subsets(bins.joint, criterion, deadline=until)
        polytope = Polytope(bins.joint, criterion)
        limits = self.limits._replace(gap=gap, deadline=until, progress=tell)
        return optimise(polytope, blocks, limits)
