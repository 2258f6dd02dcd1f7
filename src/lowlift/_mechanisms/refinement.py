"""A release that refines another: its pairs of outputs, their audit, and draws given the first."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowlift._arrays import Ints
from lowlift._audit import Audit, audit
from lowlift._channel import Channel
from lowlift._joint import Label
from lowlift._release import Release, Seed
from lowlift.errors import InvalidInput
from lowlift.tables.layouts import Refines


@dataclass(frozen=True, eq=False, repr=False)
class Refinement:
    """A release that refines another; `lowlift.refine` makes it.

    `release` has the channel from x to the pair (y1, y2), in whole weights, and its exact audit
    against the P(s) of before the first release. Its file is that of a release which also says what
    it refines (``refines``) and how it is drawn (``draws``).

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.random(5, 17, seed=0)
    >>> second = ll.refine(ll.random_response(joint, ll.LIP(0.5)), ll.LIP(1.0))
    >>> second.audit.is_satisfied, round(second.nmi, 4)
    (True, 0.9293)
    >>> second.upper_bound - second.nmi < 1e-5  # no refinement of the first keeps more
    True
    """

    release: Release

    def __repr__(self) -> str:
        word = "satisfied" if self.audit.is_satisfied else "VIOLATED"
        sizes = f"|X|={self.release.joint.n_x} |Y1|={len(self.refines.outputs)}"
        return f"<Refinement {sizes} |Y|={self.release.channel.n_y} {word} nmi={self.nmi:.6f}>"

    @property
    def refines(self) -> Refines:
        """Which release it refines, and which output of it each pair has."""
        found = self.release.refines
        if found is None:
            raise InvalidInput("a refinement must say what it refines; this release does not.")
        return found

    @property
    def audit(self) -> Audit:
        """The verdict on the pairs (y1, y2), against the P(s) of before both releases."""
        return self.release.audit

    @property
    def nmi(self) -> float:
        """I(X; Y1, Y2) / H(X)."""
        return self.audit.nmi

    @property
    def upper_bound(self) -> float:
        """What no refinement of this first release can exceed in NMI."""
        joint, first = self.release.joint, self.first_channel
        found = audit(joint, first, self.release.criterion)
        if not joint.entropy_x:
            return 1.0
        more = math.fsum(
            p * bound for p, bound in zip(found.p_y.tolist(), self.refines.bounds, strict=True)
        )
        return min(1.0, (found.mutual_information + more) / joint.entropy_x + 1e-12)

    @property
    def first_channel(self) -> Channel:
        """The channel from x to y1: the weights of the pairs, summed."""
        joint, channel = self.release.joint, self.release.channel
        weights = [dict[int, int]() for _ in self.refines.outputs]
        for y, parent in enumerate(self.refines.parents):
            for x, weight in zip(*channel.atom(y), strict=True):
                weights[parent][x] = weights[parent].get(x, 0) + weight
        atoms = [(list(each), list(each.values())) for each in weights]
        labels = self.refines.outputs
        return Channel.from_atoms(joint, atoms, channel.denominator, labels)

    def given(self, y1: Label) -> dict[Label, dict[Label, int]]:
        """Return the channel of one output of the first release, in whole weights.

        For each output that refines it, the weight of each x. P(y2 | x, y1) is a weight divided by
        the sum of the weights of x.
        """
        outputs, channel = self.refines.outputs, self.release.channel
        if y1 not in outputs:
            raise InvalidInput("y1 must be an output of the first release; it is not.")
        number, names = outputs.index(y1), self.release.joint.x_labels
        return {
            channel.y_labels[y]: {
                names[x]: weight for x, weight in zip(*channel.atom(y), strict=True)
            }
            for y, parent in enumerate(self.refines.parents)
            if parent == number
        }

    def sample(self, labels: Iterable[Any], given: Iterable[Any], seed: Seed = None) -> list[Label]:
        """Return an output for each label of X and the output that the first release gave it.

        Parameters
        ----------
        labels
            Labels of X.
        given
            For each, what was published of it by the first release.
        seed
            As for `Release.sample`.

        Raises
        ------
        InvalidInput
            For labels that are not of X, outputs that are not of the first release, or that their
            x cannot have.
        """
        numbers = {label: x for x, label in enumerate(self.release.joint.x_labels)}
        firsts = {label: y for y, label in enumerate(self.refines.outputs)}
        asked, seen = list(labels), list(given)
        if len(asked) != len(seen):
            raise InvalidInput(
                f"labels and given must have the same length; got {len(asked)} and {len(seen)}."
            )
        try:
            both = zip(asked, seen, strict=True)
            pairs = [(numbers.get(x, -1), firsts.get(y, -1)) for x, y in both]
        except TypeError as error:
            raise InvalidInput("labels must be hashable, as labels of X and of Y are.") from error
        choices = self._choices()
        wrong = [place for place, pair in enumerate(pairs) if pair not in choices]
        if wrong:
            raise InvalidInput(
                f"each label must be a symbol of X with an output of the first release that it "
                f"can have; {len(wrong)} of {len(pairs)} are not, the first at position {wrong[0]}."
            )
        rng = np.random.default_rng(int.from_bytes(os.urandom(32)) if seed is None else seed)
        names, out = self.release.channel.y_labels, list[Label]()
        for pair in pairs:
            outputs, sums = choices[pair]
            # A whole number below the sum of the weights, each with the same chance.
            uniform = int(rng.integers(0, sums[-1]))
            out.append(names[outputs[int(np.searchsorted(sums, uniform, side="right"))]])
        return out

    def _choices(self) -> dict[tuple[int, int], tuple[list[int], Ints]]:
        """Return, for x and y1, the outputs that refine y1 and running sums of their weights."""
        found = dict[tuple[int, int], tuple[list[int], list[int]]]()
        for y, parent in enumerate(self.refines.parents):
            for x, weight in zip(*self.release.channel.atom(y), strict=True):
                outputs, weights = found.setdefault((x, parent), ([], []))
                outputs.append(y)
                weights.append(weight)
        return {pair: (outputs, np.cumsum(weights)) for pair, (outputs, weights) in found.items()}

    def apply(
        self,
        table: Any,
        *,
        id: str,  # noqa: A002 (as in the options of every way to publish)
        key: bytes,
        **options: Any,
    ) -> Any:
        """Return a table with a released row for each row of a table, as `Release.apply` does.

        The output of the first release is known from `id` and `key`, by which that one was drawn.
        """
        return self.release.apply(table, id=id, key=key, **options)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the refinement to a file, as `Release.to_json` does."""
        self.release.to_json(path)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a refinement and audit it anew; see `Release.from_json`.

        Raises
        ------
        InvalidInput
            For a file that is no release, is damaged, or does not say what it refines.
        """
        found = cls(Release.from_json(path))
        _ = found.refines
        return found
