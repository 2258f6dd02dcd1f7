"""Blocks of X, and which partition refines which."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from lowlift._arguments import check_instance
from lowlift._joint import Label
from lowlift.errors import InvalidInput


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Partition:
    """Disjoint blocks of symbols.

    Parameters
    ----------
    blocks
        Non-empty, disjoint collections of labels of X.

    Raises
    ------
    InvalidInput
        For an empty block or a label that stands twice.

    Examples
    --------
    >>> coarse, fine = Partition([["a", "b"], ["c"]]), Partition([["a"], ["b"], ["c"]])
    >>> fine.refines(coarse), coarse.refines(fine)
    (True, False)
    """

    blocks: tuple[tuple[Label, ...], ...]

    def __init__(self, blocks: Iterable[Iterable[Any]]) -> None:
        scalar = getattr(blocks, "ndim", 1) == 0
        if isinstance(blocks, str) or not isinstance(blocks, Iterable) or scalar:
            raise InvalidInput(
                "blocks must be collections of labels, such as [['a', 'b'], ['c']]; got "
                f"{type(blocks).__name__}."
            )
        found, seen = list[tuple[Label, ...]](), dict[Label, int]()
        for k, block in enumerate(blocks):
            if not isinstance(block, Iterable):
                raise InvalidInput(
                    f"a block must be a collection of labels; block {k} is a "
                    f"{type(block).__name__}. Write [[1, 2], [3]], not [1, 2, 3]."
                )
            labels = [block] if isinstance(block, str) else block
            found.append(tuple(_hashable(label, k) for label in labels))
            if not found[-1]:
                raise InvalidInput(f"a block must hold at least one symbol; block {k} is empty.")
            for label in found[-1]:
                if label in seen:
                    raise InvalidInput(
                        f"blocks must not overlap; {label!r} is in blocks {seen[label]} and {k}."
                    )
                seen[label] = k
        object.__setattr__(self, "blocks", tuple(found))

    @classmethod
    def trusted(cls, blocks: Iterable[tuple[Label, ...]]) -> Self:
        """Return the partition of blocks that are known to be disjoint and not empty."""
        self = cls.__new__(cls)
        object.__setattr__(self, "blocks", tuple(blocks))
        return self

    def __repr__(self) -> str:
        return f"Partition({[list(block) for block in self.blocks]!r})"

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[tuple[Label, ...]]:
        return iter(self.blocks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        return self._as_sets == other._as_sets

    def __hash__(self) -> int:
        return hash(self._as_sets)

    @cached_property
    def _as_sets(self) -> frozenset[frozenset[Label]]:
        return frozenset(frozenset(block) for block in self.blocks)

    @cached_property
    def block_of(self) -> dict[Label, int]:
        """The number of the block in which a label stands."""
        return {label: k for k, block in enumerate(self.blocks) for label in block}

    def refines(self, other: "Partition") -> bool:
        """Tell whether every block of this partition lies inside one block of `other`.

        Raises
        ------
        InvalidInput
            When the two are not partitions of the same symbols.
        """
        check_instance(other, Partition, "other")
        if self.block_of.keys() != other.block_of.keys():
            differing = len(self.block_of.keys() ^ other.block_of.keys())
            raise InvalidInput(
                "only partitions of the same symbols can be compared; "
                f"{differing} symbol(s) stand in one of them only."
            )
        return all(len({other.block_of[label] for label in block}) == 1 for block in self.blocks)


def _hashable(label: Any, block: int) -> Any:
    if isinstance(label, list | tuple):
        return tuple(_hashable(part, block) for part in label)
    try:
        hash(label)
    except TypeError as error:
        raise InvalidInput(
            f"blocks must hold labels of X; block {block} holds a {type(label).__name__}."
        ) from error
    return label
