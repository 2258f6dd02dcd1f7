"""A joint distribution of S and X with labels: immutable, exact, sums to one."""

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from lowlift._arguments import check_instance
from lowlift._arrays import Bools, Floats
from lowlift._display import MOST, card
from lowlift._exact import integers_of
from lowlift._joint_table import as_table, refuse_bad_cell, whole_numbers
from lowlift._labels import Label, check_labels, labels_in
from lowlift._wording import cell, counted, percent, shown, times
from lowlift.errors import InvalidInput, LowliftWarning

__all__ = ["Joint", "Label", "as_table", "check_joint", "check_labels", "unwarned"]


_AXES = "|S| rows and |X| columns"
_SUM_TOLERANCE = 1e-9
_SMALLEST = 1e-300
#: Below this, intermediate products may leave the normal floats: every verdict is then exact.
_SCREENED = 1e-280
_EXACT_FLOAT = 1 << 53


def check_joint(joint: Any) -> None:
    """Refuse what is not a Joint."""
    hint = "Use Joint(p_sx) for probabilities or Joint.from_counts for a table of counts."
    check_instance(joint, Joint, "joint", hint)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Joint:
    """The joint distribution of a sensitive S (rows) and a useful X (columns).

    Floats are taken as the binary fractions they are and divided by their exact sum, so every
    question about the joint has one exact answer; float attributes are for display.

    Parameters
    ----------
    p_sx
        Probabilities of shape (|S|, |X|): not negative, summing to 1 within 1e-9.
    s_labels, x_labels
        One label a symbol: strings, numbers, bools, None or tuples of those. Default: the index
        and the columns of a pandas frame (such as a crosstab), else 0, 1, ...
    drop_empty
        Drop symbols of probability zero with a warning, instead of refusing them.

    Raises
    ------
    InvalidInput
        For a negative, NaN or infinite entry, a sum off, an empty axis, labels that do not fit,
        or a symbol of probability zero.

    Examples
    --------
    >>> joint = Joint([[0.25, 0.125], [0.25, 0.375]], s_labels=["sick", "well"])
    >>> joint.p_s
    array([0.375, 0.625])
    >>> joint.lift.round(3)
    array([[1.333, 0.667],
           [0.8  , 1.2  ]])
    """

    #: P(s, x) up to one factor, (|S|, |X|): exact for floats given, correctly rounded for counts.
    masses: Floats
    #: The sum of `masses`.
    total: float
    s_labels: tuple[Label, ...]
    x_labels: tuple[Label, ...]
    _given_counts: npt.NDArray[Any] | None
    #: The columns that were counted, and where (`lowlift.tables.Origin`); None for no table.
    origin: Any = None

    def __init__(
        self,
        p_sx: npt.ArrayLike,
        s_labels: Iterable[Any] | None = None,
        x_labels: Iterable[Any] | None = None,
        *,
        drop_empty: bool = False,
    ) -> None:
        array = as_table(p_sx, "p_sx", _AXES)
        if array.dtype.kind not in "fiu":
            raise InvalidInput(f"p_sx must hold real numbers; got dtype {array.dtype}.")
        masses = np.array(array, dtype=np.float64)
        refuse_bad_cell(~(np.isfinite(masses) & (masses >= 0)), masses, "p_sx must be 0 or more")
        total = math.fsum(masses.flat)
        if abs(total - 1) > _SUM_TOLERANCE:
            raise InvalidInput(
                f"p_sx must sum to 1 within {_SUM_TOLERANCE}; it sums to {total!r}. "
                "Use Joint.from_counts for counts, or divide by the sum."
            )
        self._settle(masses, None, *labels_in(p_sx, (s_labels, x_labels)), drop_empty)

    def _settle(
        self,
        masses: Floats,
        counts: npt.NDArray[Any] | None,
        s_labels: Iterable[Any] | None,
        x_labels: Iterable[Any] | None,
        drop_empty: bool,
    ) -> None:
        """Check labels, drop or refuse empty symbols, set the fields."""
        axes = []
        for axis, labels, size in (("s", s_labels, 0), ("x", x_labels, 1)):
            names = check_labels(labels, masses.shape[size], axis)
            used = np.asarray(masses.any(axis=1 - size))
            if not used.all():
                names = _drop_or_refuse(names, used, axis, drop_empty)
                masses = np.compress(used, masses, axis=size)
                counts = None if counts is None else np.compress(used, counts, axis=size)
            axes.append(names)
        if len(axes[0]) == 1:
            warnings.warn(
                "S takes one value only: there is nothing to protect.", LowliftWarning, stacklevel=3
            )
        smallest = masses.min(where=masses > 0, initial=math.inf)
        total = math.fsum(masses.flat)
        if smallest < _SMALLEST * total:
            raise InvalidInput(
                f"a positive cell must be at least {_SMALLEST} of the total; the smallest is "
                f"{smallest / total:.3g}. Set such cells to 0 or merge them."
            )
        masses.flags.writeable = False
        if counts is not None:
            counts.flags.writeable = False
        for name, value in (
            ("masses", masses),
            ("total", total),
            ("s_labels", axes[0]),
            ("x_labels", axes[1]),
            ("_given_counts", counts),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_counts(
        cls,
        counts: npt.ArrayLike,
        s_labels: Iterable[Any] | None = None,
        x_labels: Iterable[Any] | None = None,
        *,
        drop_empty: bool = False,
    ) -> Self:
        """Return the joint of a contingency table of whole numbers, exactly.

        Parameters
        ----------
        counts
            Whole numbers of any size, shape (|S|, |X|), not negative.
        s_labels, x_labels, drop_empty
            As for `Joint`.

        Examples
        --------
        >>> Joint.from_counts([[2, 1], [2, 3]]).p_x
        array([0.5, 0.5])
        """
        array = as_table(counts, "counts", _AXES, exactly=True)
        exact = whole_numbers(array)
        refuse_bad_cell(exact < 0, array, "counts must be 0 or more")
        total = sum(exact.flat)
        if total == 0:
            raise InvalidInput("counts must not all be 0.")
        if total < _EXACT_FLOAT:
            exact = exact.astype(np.int64)
            masses = exact.astype(np.float64)
        else:
            # int / int is correctly rounded whatever the sizes.
            masses = np.array([n / total for n in exact.flat]).reshape(exact.shape)
            tiny = (masses < _SMALLEST) & (exact > 0)
            refuse_bad_cell(tiny, array, f"a count must be at least {_SMALLEST} of the total")
        self = cls.__new__(cls)
        self._settle(masses, exact, *labels_in(counts, (s_labels, x_labels)), drop_empty)
        return self

    @classmethod
    def random(cls, n_s: int, n_x: int, seed: int | np.random.Generator | None = None) -> Self:
        """Return i.i.d. uniform(0, 1) entries over their sum: the paper's random joint.

        Parameters
        ----------
        n_s, n_x
            |S| and |X|.
        seed
            Anything ``numpy.random.default_rng`` takes.

        Examples
        --------
        >>> Joint.random(5, 17, seed=0).p_sx.shape
        (5, 17)
        """
        for name, size in (("n_s", n_s), ("n_x", n_x)):
            if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
                raise InvalidInput(f"{name} must be a whole number, 1 or more; got {size!r}.")
        try:
            generator = np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "seed must be None, a whole number of 0 or more, or a NumPy Generator; got "
                f"{type(seed).__name__}."
            ) from error
        values = generator.random((n_s, n_x))
        return cls(values / values.sum())

    def __repr__(self) -> str:
        return f"<Joint |S|={self.n_s} |X|={self.n_x}>"

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.masses if self._given_counts is None else self._given_counts
        made = type(self), self._given_counts is None, given, *self.labels, self.origin
        return _rebuild, made

    def with_table(self, origin: Any) -> Self:
        """Return the same joint, which knows the columns it was counted from."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, origin=origin)
        return made

    @property
    def table(self) -> Any:
        """The earlier name of `origin`."""
        return self.origin

    @property
    def schema(self) -> Any:
        """The columns that were counted, a `Schema`; None for a joint of no table."""
        return None if self.origin is None else self.origin.schema

    @property
    def n_s(self) -> int:
        """|S|."""
        return len(self.s_labels)

    @property
    def n_x(self) -> int:
        """|X|."""
        return len(self.x_labels)

    @property
    def labels(self) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
        """The labels of S and of X."""
        return self.s_labels, self.x_labels

    @cached_property
    def p_sx(self) -> Floats:
        """P(s, x), (|S|, |X|)."""
        return _frozen(self.masses / self.total)

    @cached_property
    def p_s(self) -> Floats:
        """P(s), (|S|,)."""
        return _frozen(self.masses.sum(axis=1) / self.total)

    @cached_property
    def p_x(self) -> Floats:
        """P(x), (|X|,)."""
        return _frozen(self.masses.sum(axis=0) / self.total)

    @cached_property
    def p_s_given_x(self) -> Floats:
        """P(s | x), (|S|, |X|)."""
        return _frozen(self.masses / self.masses.sum(axis=0))

    @cached_property
    def lift(self) -> Floats:
        """P(s | x) / P(s), (|S|, |X|): what publishing X itself would reveal."""
        return _frozen(self.p_s_given_x / self.p_s[:, None])

    @cached_property
    def entropy_x(self) -> float:
        """H(X) in nats."""
        p = self.p_x
        return max(0.0, float(-(p * np.log(p)).sum())) if self.n_x > 1 else 0.0

    @property
    def is_counted(self) -> bool:
        """Whether the joint was made from counts."""
        return self._given_counts is not None

    @cached_property
    def counts(self) -> npt.NDArray[Any]:
        """P(s, x) as whole numbers up to one factor, exactly: (|S|, |X|)."""
        if self._given_counts is not None:
            return self._given_counts
        return _frozen(integers_of(self.masses))

    @cached_property
    def prior(self) -> tuple[int, ...]:
        """P(s) as whole numbers on the scale of `counts`, exactly."""
        return tuple(sum(row) for row in self.counts.tolist())

    @cached_property
    def masses_given_s(self) -> Floats:
        """P(x | s) up to one factor, (|S|, |X|)."""
        return _frozen(self.masses / self.p_s[:, None])

    @cached_property
    def lift_error(self) -> float:
        r"""A bound on the relative error of a lift computed in floats from `masses`.

        A sum of k non-negative floats has relative error at most (k - 1) u in any order. A lift
        ``(g / c) (T / N_s)`` uses sums g, c, N_s, T of at most |X|, |X| + |S|, |X| and (correctly
        rounded) terms, each term rounded at most twice, and three more roundings:
        below (3 |X| + |S| + 12) u (1 + tiny); twice as much is allowed for.
        """
        smallest = self.masses.min(where=self.masses > 0, initial=math.inf)
        if smallest < _SCREENED * self.total:
            return math.inf
        return 8 * (self.n_x + self.n_s + 4) * 2.0**-53

    def exact_column(self, members: Sequence[int], weights: Sequence[int]) -> list[int]:
        """Return sum_k weights[k] counts[:, members[k]] as Python integers, one per s."""
        rows = self.counts[:, list(members)].tolist()
        return [sum(n * w for n, w in zip(row, weights, strict=True)) for row in rows]

    def _repr_html_(self) -> str:
        """Return sizes and the first symbols of X, as a notebook shows them."""
        rows = [
            (cell(shown(label)), percent(float(p)), times(column.min()), times(column.max()))
            for label, p, column in zip(self.x_labels[:MOST], self.p_x, self.lift.T, strict=False)
        ]
        return card(
            "Joint distribution of S and X",
            facts=[
                ("Sizes", f"|S| = {self.n_s:,}, |X| = {self.n_x:,}"),
                ("H(X)", f"{self.entropy_x:.4g} nats"),
                ("Largest lift", times(self.lift.max())),
                ("Smallest lift", times(self.lift.min())),
            ],
            head=("symbol of X", "P(x)", "smallest lift", "largest lift"),
            rows=rows,
            left_off=f"and {counted(self.n_x - MOST, 'more symbol')}" if self.n_x > MOST else "",
        )


def _drop_or_refuse(
    names: tuple[Label, ...], used: Bools, axis: str, drop_empty: bool
) -> tuple[Label, ...]:
    empty = [name for name, keep in zip(names, used, strict=True) if not keep]
    if not drop_empty:
        place = names.index(empty[0])
        raise InvalidInput(
            f"every symbol of {axis.upper()} must have positive probability; "
            f"{empty[0]!r} ({place}) has none. Pass drop_empty=True to drop such symbols."
        )
    warnings.warn(
        f"dropped {len(empty)} symbol(s) of {axis.upper()} that have probability zero.",
        LowliftWarning,
        stacklevel=4,
    )
    return tuple(name for name, keep in zip(names, used, strict=True) if keep)


_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def _frozen(array: _Array) -> _Array:
    array.flags.writeable = False
    return array


@contextmanager
def unwarned() -> Iterator[None]:
    """Make joints without warnings: whoever made the table was warned, or has nothing to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowliftWarning)
        yield


def _rebuild(
    cls: type[Joint],
    from_floats: bool,
    given: npt.NDArray[Any],
    s_labels: tuple[Label, ...],
    x_labels: tuple[Label, ...],
    origin: Any,
) -> Joint:
    with unwarned():
        made = (cls if from_floats else cls.from_counts)(given, s_labels, x_labels)
    return made if origin is None else made.with_table(origin)
