"""P(Y|X) as integer weights, and how it acts on a joint.

A channel is kept by output: output y has members x and integer weights, so that a partition of
100,000 symbols takes 100,000 entries, and an output is at hand as the atom it is.
"""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lowlift._arguments import check_instance
from lowlift._arrays import Bools, Floats, Ints
from lowlift._exact import integers_of, largest_remainders
from lowlift._joint import Joint, as_table, check_joint
from lowlift._joint_table import refuse_bad_cell
from lowlift._labels import Label, block_labels, check_labels
from lowlift._partition import Partition
from lowlift.errors import InvalidInput, LowliftWarning

MAX_DENOMINATOR = 1 << 48
_AXES = "|X| rows and |Y| columns"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Channel:
    """P(y | x) as whole numbers over one denominator, which is a power of two.

    What is audited and what is sampled are these integers; floats are for display.

    Parameters
    ----------
    weights
        Whole numbers of shape (|X|, |Y|), not negative. Every row sums to the same denominator:
        a power of two, at most 2**48 (1 for a partition).
    x_labels
        Labels of the rows. Without them the rows fit any joint of |X| symbols, by position.
    y_labels
        Labels of the columns; default 0, 1, ...
    drop_empty
        Drop outputs that never occur, instead of refusing them.

    Raises
    ------
    InvalidInput
        For weights that are not such a table; the message names the row.

    Examples
    --------
    >>> channel = Channel([[3, 1], [0, 4]])
    >>> channel.p_y_given_x
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    denominator: int
    n_x: int
    #: Output y has the entries offsets[y] to offsets[y + 1] of `members` and `member_weights`.
    offsets: Ints
    members: Ints
    member_weights: Ints
    _y_labels: tuple[Label, ...] | None
    _x_labels: tuple[Label, ...] | None

    def __init__(
        self,
        weights: npt.ArrayLike,
        x_labels: Iterable[Any] | None = None,
        y_labels: Iterable[Any] | None = None,
        *,
        drop_empty: bool = False,
    ) -> None:
        array = as_table(weights, "weights", _AXES)
        if array.dtype.kind not in "iu":
            raise InvalidInput(
                f"weights must be whole numbers; got dtype {array.dtype}. "
                "Use Channel.from_probabilities for floats."
            )
        rows = None if x_labels is None else check_labels(x_labels, len(array), "x")
        names = check_labels(y_labels, array.shape[1], "y")
        bad = (array < 0) | (array > MAX_DENOMINATOR)
        if bad.any():
            x, y = np.argwhere(bad)[0]
            raise InvalidInput(
                f"weights must lie in 0..2**48; got {array[x, y]} in {_row(rows, x)}, column {y}."
            )
        exact = array.astype(np.int64)
        # Float sums of whole numbers are exact below 2**53 and never fall back below it.
        sums = exact.sum(axis=1, dtype=np.float64)
        denominator = int(sums[0])
        if denominator < 1 or denominator & (denominator - 1) or denominator > MAX_DENOMINATOR:
            raise InvalidInput(
                "weights must sum to a power of two up to 2**48 in every row; "
                f"{_row(rows, 0)} sums to {denominator}. Use Channel.from_probabilities to round."
            )
        if (sums != denominator).any():
            x = int(np.argmax(sums != denominator))
            raise InvalidInput(
                f"weights must sum to one denominator in every row; {_row(rows, x)} sums to "
                f"{int(sums[x])}, the first row to {denominator}."
            )
        used = np.asarray(exact.any(axis=0))
        if not used.all():
            exact, names = exact[:, used], _used_outputs(names, used, drop_empty)
        outputs, members = np.nonzero(exact.T)
        offsets = np.searchsorted(outputs, np.arange(len(names) + 1))
        self._set(denominator, len(exact), offsets, members, exact[members, outputs], names, rows)

    def _set(self, *parts: Any) -> None:
        """Set all fields, in their order; their arrays become read-only."""
        for array in parts[2:5]:
            array.flags.writeable = False
        self.__dict__.update(zip(self.__dataclass_fields__, parts, strict=True))

    @classmethod
    def from_atoms(
        cls,
        joint: Joint,
        atoms: Sequence[tuple[Sequence[int], Sequence[int]]],
        denominator: int,
        y_labels: Iterable[Any] | None = None,
    ) -> Self:
        """Return the channel whose output k has the members and integer weights ``atoms[k]``.

        Parameters
        ----------
        joint
            Where the labels of X come from.
        atoms
            Per output: numbers of symbols of X, and their weights.
        denominator
            What the weights of each symbol sum to.
        y_labels
            Default: the one member's own label, or the tuple of the members' labels.

        Raises
        ------
        InvalidInput
            When the weights of a symbol do not sum to the denominator.
        """
        check_joint(joint)
        _check_denominator(denominator)
        for k, atom in enumerate(atoms if isinstance(atoms, Sequence) else [None]):
            if not _is_atom(atom, joint.n_x, denominator):
                raise InvalidInput(
                    "an atom must hold different numbers of symbols of X and as many positive "
                    f"whole weights; atom {k} does not. Write [([0, 1], [1, 1])], for example."
                )
        sizes = [len(xs) for xs, _ in atoms]
        members = np.fromiter((x for xs, _ in atoms for x in xs), np.int64, sum(sizes))
        weights = np.fromiter((w for _, ws in atoms for w in ws), np.int64, sum(sizes))
        names = None if y_labels is None else check_labels(y_labels, len(atoms), "y")
        return cls.from_entries(joint, np.array(sizes), members, weights, denominator, names)

    @classmethod
    def from_entries(
        cls,
        joint: Joint,
        sizes: Ints,
        members: Ints,
        weights: Ints,
        denominator: int,
        y_labels: tuple[Label, ...] | None = None,
    ) -> Self:
        """Return the channel of these positive weights, laid end to end by output.

        For mechanisms: the members of an output are trusted to be different, and so are sums
        beyond the largest denominator, which floats do not tell.
        """
        sums = np.bincount(members, weights.astype(np.float64), joint.n_x)  # exact up to 2**53
        if denominator <= MAX_DENOMINATOR and (sums != denominator).any():
            x = int(np.argmax(sums != denominator))
            raise InvalidInput(
                f"the weights of each symbol must sum to {denominator}; "
                f"those of {joint.x_labels[x]!r} ({x}) sum to {int(sums[x])}."
            )
        self = cls.__new__(cls)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        self._set(denominator, joint.n_x, offsets, members, weights, y_labels, joint.x_labels)
        return self

    @classmethod
    def from_blocks(cls, joint: Joint, blocks: Sequence[Sequence[int]]) -> Self:
        """Return the channel that maps each block of symbol numbers to one output.

        The blocks must be a partition of ``0..|X|-1``.
        """
        members = np.array([x for block in blocks for x in block], dtype=np.int64)
        sizes = np.array([len(block) for block in blocks])
        return cls.from_entries(joint, sizes, members, np.ones_like(members), 1)

    @classmethod
    def identity(cls, joint: Joint) -> Self:
        """Return the channel that publishes X itself.

        Examples
        --------
        >>> Channel.identity(Joint.from_counts([[1, 2], [3, 4]])).weights
        array([[1, 0],
               [0, 1]])
        """
        check_joint(joint)
        return cls.from_blocks(joint, [[x] for x in range(joint.n_x)])

    @classmethod
    def from_partition(cls, joint: Joint, partition: Partition) -> Self:
        """Return the channel that maps each block of labels to one output.

        Raises
        ------
        InvalidInput
            When the blocks miss a symbol of X or name one that is not there.

        Examples
        --------
        >>> joint = Joint.from_counts([[1, 2, 1], [3, 4, 1]], x_labels="abc")
        >>> Channel.from_partition(joint, Partition([["a", "c"], ["b"]])).y_labels
        (('a', 'c'), 'b')
        """
        check_joint(joint)
        check_instance(partition, Partition, "partition", "Write Partition([['a', 'b'], ['c']]).")
        number = {label: x for x, label in enumerate(joint.x_labels)}
        unknown = partition.block_of.keys() - number.keys()
        if unknown:
            raise InvalidInput(
                f"blocks must hold symbols of X; {len(unknown)} label(s) are not among them."
            )
        for label, x in number.items():
            if label not in partition.block_of:
                raise InvalidInput(
                    f"blocks must hold every symbol of X; {label!r} ({x}) is in none."
                )
        return cls.from_blocks(joint, [[number[label] for label in block] for block in partition])

    @classmethod
    def from_probabilities(
        cls,
        p_y_given_x: npt.ArrayLike,
        x_labels: Iterable[Any] | None = None,
        y_labels: Iterable[Any] | None = None,
        *,
        denominator: int = MAX_DENOMINATOR,
        drop_empty: bool = False,
    ) -> Self:
        """Return the channel nearest to float probabilities, row by row (largest remainders).

        Zeros stay zeros. What is audited afterwards are the rounded integers, not the floats.

        Parameters
        ----------
        p_y_given_x
            Shape (|X|, |Y|), rows summing to 1 within 1e-9.
        x_labels, y_labels, drop_empty
            As for `Channel`.
        denominator
            A power of two, at most 2**48.

        Examples
        --------
        >>> Channel.from_probabilities([[0.3, 0.7], [1.0, 0.0]], denominator=16).weights
        array([[ 5, 11],
               [16,  0]])
        """
        array = as_table(p_y_given_x, "p_y_given_x", _AXES)
        if array.dtype.kind not in "fiu":
            raise InvalidInput(f"p_y_given_x must hold real numbers; got dtype {array.dtype}.")
        p = array.astype(np.float64)
        refuse_bad_cell(~(np.isfinite(p) & (p >= 0)), p, "p_y_given_x must be 0 or more")
        rows = None if x_labels is None else check_labels(x_labels, p.shape[0], "x")
        off = np.abs(p.sum(axis=1) - 1) > 1e-9
        if off.any():
            x = int(np.argmax(off))
            raise InvalidInput(
                f"rows of p_y_given_x must sum to 1 within 1e-9; {_row(rows, x)} sums to "
                f"{float(p[x].sum())!r}. Divide each row by its sum."
            )
        _check_denominator(denominator)
        weights = np.zeros(p.shape, np.int64)
        for x, row in enumerate(p):
            used = np.flatnonzero(row)
            weights[x, used] = largest_remainders(integers_of(row[used]).tolist(), denominator)
        return cls(weights, rows, y_labels, drop_empty=drop_empty)

    def __repr__(self) -> str:
        return f"<Channel |X|={self.n_x} |Y|={self.n_y} denominator={self.denominator}>"

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in self.__dataclass_fields__)

    def __setstate__(self, parts: tuple[Any, ...]) -> None:
        self._set(*parts)

    @property
    def n_y(self) -> int:
        """|Y|."""
        return len(self.offsets) - 1

    @property
    def x_labels(self) -> tuple[Label, ...]:
        """The labels of X; 0, 1, ... when none were given."""
        return self._x_labels or tuple(range(self.n_x))

    @cached_property
    def y_labels(self) -> tuple[Label, ...]:
        """The labels of Y: as given, or made of the members (one: its label, more: a tuple)."""
        if self._y_labels is not None:
            return self._y_labels
        return block_labels(self.x_labels, [self.atom(y)[0] for y in range(self.n_y)])

    @cached_property
    def weights(self) -> Ints:
        """The whole table of weights, (|X|, |Y|)."""
        table = np.zeros((self.n_x, self.n_y), np.int64)
        table[self.members, self.entry_outputs] = self.member_weights
        table.flags.writeable = False
        return table

    @property
    def p_y_given_x(self) -> Floats:
        """P(y | x), (|X|, |Y|)."""
        return self.weights / self.denominator

    @cached_property
    def entry_outputs(self) -> Ints:
        """The output of each entry of `members`."""
        outputs = np.repeat(np.arange(self.n_y), np.diff(self.offsets))
        outputs.flags.writeable = False
        return outputs

    def atom(self, y: int) -> tuple[list[int], list[int]]:
        """Return the members of output number y and their integer weights."""
        entries = slice(self.offsets[y], self.offsets[y + 1])
        return self.members[entries].tolist(), self.member_weights[entries].tolist()

    def check_fits(self, joint: Joint) -> None:
        """Refuse a joint whose X is not this channel's X."""
        if self.n_x != joint.n_x:
            raise InvalidInput(
                f"channel and joint must have the same X; got {self.n_x} and {joint.n_x} symbols."
            )
        mine, theirs = self._x_labels, joint.x_labels
        if mine is not None and mine is not theirs and mine != theirs:
            x = next(x for x in range(self.n_x) if mine[x] != theirs[x])
            raise InvalidInput(
                "channel and joint must list the symbols of X in the same order; "
                f"at {x} the channel has {mine[x]!r}, the joint {theirs[x]!r}."
            )

    def output_masses(self, joint: Joint) -> Floats:
        """Return P(s, y) up to one factor, (|S|, |Y|), in floats (see `Joint.lift_error`)."""
        columns = joint.masses[:, self.members]
        if self.denominator > 1:
            columns = columns * self.member_weights
        return np.add.reduceat(columns, self.offsets[:-1], axis=1)

    def exact_masses(self, joint: Joint, y: int) -> list[int]:
        """Return P(s, y) up to one factor as whole numbers, one per s, exactly."""
        return joint.exact_column(*self.atom(y))


def _check_denominator(value: Any) -> None:
    if type(value) is not int or not 1 <= value <= MAX_DENOMINATOR or value & (value - 1):
        raise InvalidInput(f"denominator must be a power of two up to 2**48; got {value!r}.")


def _is_atom(atom: Any, n_x: int, most: int) -> bool:
    """Tell whether this is a pair of different symbols and as many weights up to the most."""
    if not isinstance(atom, Sequence) or [isinstance(p, Sequence) for p in atom] != [True, True]:
        return False
    xs = {x for x in atom[0] if type(x) is int and 0 <= x < n_x}
    ws = [w for w in atom[1] if type(w) is int and 0 < w <= most]
    return 0 < len(xs) == len(ws) == len(atom[0]) == len(atom[1])


def check_pair(joint: Any, channel: Any) -> None:
    """Refuse what is not a joint and a channel on its symbols."""
    check_joint(joint)
    check_instance(channel, Channel, "channel", "Use Channel.from_probabilities for an array.")
    channel.check_fits(joint)


def _row(labels: tuple[Label, ...] | None, x: int) -> str:
    return f"row {x}" if labels is None else f"row {labels[x]!r} ({x})"


def _used_outputs(names: tuple[Label, ...], used: Bools, drop_empty: bool) -> tuple[Label, ...]:
    if not drop_empty:
        raise InvalidInput(
            f"every output must occur; {names[used.argmin()]!r} has no weight. "
            "Pass drop_empty=True to drop such outputs."
        )
    warnings.warn(f"dropped {sum(~used)} output(s) that never occur.", LowliftWarning, stacklevel=3)
    return tuple(compress(names, used))
