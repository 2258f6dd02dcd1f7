"""What may be published beside a released table: the channel, P(x | y) and the guarantee in words.

A codebook is public, a release is not: it has P_SX. A codebook has no label of S, no joint, no
P_S, no counts and no rows.
"""

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from lowlift._channel import Channel
from lowlift._exposure import ends_of, exposed, is_by_blocks
from lowlift._files import read_json, refusing_damage, write_text
from lowlift._guarantees import guarantee_of
from lowlift._joint import Joint, Label, check_labels
from lowlift._rounding import in_floats
from lowlift.criteria import BuiltIn, from_dict, to_dict
from lowlift.encodings import Encoded, is_deterministic
from lowlift.errors import InvalidInput
from lowlift.tables.schema import OF_CELLS

__all__ = ["Codebook", "is_by_blocks"]

#: The lower and the upper end of a probability; equal where it is exact.
Interval: TypeAlias = tuple[float, float]

_VERSION = 1
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Codebook:
    """What a reader of the released table may know; `Codebook.of` makes one.

    From exact P(x | y) and the numbers of published rows anyone can compute P(x), and with it the
    counts of the table: for merged values exactly, otherwise up to the noise of the draw. Where
    that must not be, use `round_to`.
    """

    encoding: str
    criterion: BuiltIn
    guarantee: str
    x_labels: tuple[Label, ...]
    #: What is published, per output: a number, a tuple of merged values, or a value of X.
    labels: tuple[Label, ...]
    #: The same as text.
    texts: tuple[str, ...]
    #: The numbers of the symbols of X that an output can stand for.
    members: tuple[tuple[int, ...], ...]
    #: P(x | y) per output, along `members`.
    p_x_given_y: tuple[tuple[Interval, ...], ...]
    #: P(y | x) per output, along `members`.
    p_y_given_x: tuple[tuple[Interval, ...], ...]
    #: P(y | x) in whole weights; None when that too was rounded.
    channel: Channel | None
    #: The step to which probabilities were rounded outward, if they were.
    round_to: float | None = None
    #: The columns that X is made of, as the caller described them.
    columns: tuple[dict[str, Any], ...] | None = None
    #: For whoever publishes; never written to the file.
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Codebook {self.encoding} |X|={len(self.x_labels)} |Y|={len(self.labels)}>"

    @classmethod
    def of(
        cls,
        encoded: Encoded,
        columns: Iterable[dict[str, Any]] | None = None,
        *,
        round_to: float | None = None,
    ) -> Self:
        """Return what may be published of a release in the form in which it is published.

        Parameters
        ----------
        encoded
            From `lowlift.encodings.encode`.
        columns
            Anything to say about the columns of X, one dictionary each, as JSON can hold it.
        round_to
            Give each P(x | y) as an interval of this width, between two multiples of it, and no
            exact value. For `values`, whose channel is made of P(x | y), P(y | x) likewise.

        Raises
        ------
        InvalidInput
            For a criterion that is not built in, columns that JSON cannot hold, or round_to not
            between 1e-6 and 0.5.

        Examples
        --------
        >>> from lowlift.criteria import MaxLift
        >>> from lowlift.encodings import encode
        >>> from lowlift._release import Release
        >>> joint = Joint.from_counts([[1, 2, 40], [2, 1, 40]], x_labels="abc")
        >>> merged = Release.of(joint, Channel.from_blocks(joint, [[0, 1], [2]]), MaxLift(0.0))
        >>> book = Codebook.of(encode(merged, "groups"))
        >>> book.texts, book.p_x_given_y[0]
        (('{a, b}', 'c'), ((0.5, 0.5), (0.5, 0.5)))
        >>> len(book.warnings)  # a and b stand for 3 rows each
        1
        >>> Codebook.of(encode(merged, "groups"), round_to=0.1).p_x_given_y[0]
        ((0.5, 0.6), (0.5, 0.6))
        """
        if not isinstance(encoded, Encoded):
            raise InvalidInput(f"encoded must come from encode; got {type(encoded).__name__}.")
        criterion = from_dict(to_dict(encoded.release.criterion))
        step = None if round_to is None else _step(round_to)
        channel = encoded.channel
        atoms = [channel.atom(y) for y in range(channel.n_y)]
        masses = [_masses(encoded.release.joint, *atom) for atom in atoms]
        is_hidden = step is not None and encoded.name == "values"
        return cls(
            encoded.name,
            criterion,
            guarantee_of(criterion),
            encoded.release.joint.x_labels,
            encoded.labels,
            encoded.texts,
            tuple(tuple(members) for members, _ in atoms),
            tuple(_shares(mass, sum(mass), step) for mass in masses),
            tuple(
                _shares(weights, channel.denominator, step if is_hidden else None)
                for _, weights in atoms
            ),
            None if is_hidden else channel,
            None if step is None else float(step),
            _plain_columns(columns),
            exposed(encoded, step, masses),
        )

    @classmethod
    def of_rows(cls, encoded: Encoded, columns: Iterable[dict[str, Any]]) -> Self:
        """Return what may be published where rows are: the guarantee and the columns, no cells.

        The law of the cells is kept, so that a reader needs no channel; how often a small cell
        became another would tell about its rows.
        """
        return cls._rows(encoded.name, from_dict(to_dict(encoded.release.criterion)), columns)

    @classmethod
    def _rows(cls, encoding: str, criterion: BuiltIn, columns: Any) -> Self:
        none: tuple[Any, ...] = ()
        guarantee = guarantee_of(criterion)
        plain = _plain_columns(columns)
        return cls(
            encoding, criterion, guarantee, none, none, none, none, none, none, None, None, plain
        )

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the codebook to a file, in full or not at all, readable as the umask allows.

        Raises
        ------
        InvalidInput
            When the folder is not there or cannot be written to.
        """
        write_text(path, self.to_text(), is_private=False)

    def to_text(self) -> str:
        """Return the content of the codebook's file."""
        return json.dumps(self._as_dict(), allow_nan=False, indent=1) + "\n"

    def _as_dict(self) -> dict[str, Any]:
        outputs = []
        for y, label in enumerate(self.labels):
            entry: dict[str, Any] = {
                "code": y,
                "label": label,
                "text": self.texts[y],
                "members": self.members[y],
            }
            if self.channel is None:
                entry["p_y_given_x"] = self.p_y_given_x[y]
            else:
                entry["weights"] = self.channel.atom(y)[1]
            exact = self.round_to is None
            posterior = self.p_x_given_y[y]
            entry["p_x_given_y"] = [low for low, _ in posterior] if exact else posterior
            outputs.append(entry)
        return {
            "format": "lowlift-codebook",
            "version": _VERSION,
            "encoding": self.encoding,
            "criterion": to_dict(self.criterion),
            "guarantee": self.guarantee,
            "round_to": self.round_to,
            "columns": self.columns,
            "x_labels": self.x_labels,
            "denominator": None if self.channel is None else self.channel.denominator,
            "outputs": outputs,
        }

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a codebook, and refuse one whose parts do not fit together.

        Raises
        ------
        InvalidInput
            For a file that is no codebook, of another version, truncated or changed.
        """
        saved = read_json(path, "codebook", _VERSION)
        with refusing_damage(Path(path).name):
            return cls._from_dict(saved)

    @classmethod
    def _from_dict(cls, saved: dict[str, Any]) -> Self:
        criterion = from_dict(saved["criterion"])
        encoding, outputs = saved["encoding"], saved["outputs"]
        _check_guarantee(saved["guarantee"], criterion)
        if encoding in OF_CELLS:
            return cls._rows(encoding, criterion, saved["columns"])
        if not outputs or not saved["x_labels"]:
            raise InvalidInput("a codebook must have outputs and values of X; it has none.")
        step = None if saved["round_to"] is None else _step(saved["round_to"])
        is_hidden = step is not None and encoding == "values"
        x_labels = check_labels(saved["x_labels"], len(saved["x_labels"]), "x")
        part = "p_y_given_x" if is_hidden else "weights"
        for y, entry in enumerate(outputs):
            if entry["code"] != y or part not in entry:
                raise InvalidInput(f"output {y} must have its code and {part}; it has not.")
        members = [_members(entry["members"], len(x_labels)) for entry in outputs]
        posteriors = tuple(
            _checked(entry["p_x_given_y"], len(xs), step, "P(x|y)")
            for entry, xs in zip(outputs, members, strict=True)
        )
        for posterior in posteriors:
            _check_sum(posterior, "P(x|y) must sum to 1 over x")
        if is_hidden:
            channel, given_x = None, _rounded_weights(saved, members, len(x_labels), step)
        else:
            channel = _channel(x_labels, members, outputs, saved["denominator"])
            given_x = tuple(
                _shares(channel.atom(y)[1], channel.denominator, None) for y in range(len(members))
            )
        labels = check_labels([entry["label"] for entry in outputs], len(outputs), "y")
        texts = tuple(entry["text"] for entry in outputs)
        _check_names(encoding, labels, texts, members, x_labels, channel)
        return cls(
            encoding,
            criterion,
            guarantee_of(criterion),
            x_labels,
            labels,
            texts,
            tuple(members),
            posteriors,
            given_x,
            channel,
            None if step is None else float(step),
            _plain_columns(saved["columns"]),
        )


def _check_guarantee(text: str, criterion: BuiltIn) -> None:
    """Refuse words that are not the criterion's, nor those that earlier versions had for it."""
    with in_floats():
        older = guarantee_of(criterion)
    if text not in {guarantee_of(criterion), older}:
        raise InvalidInput("the guarantee is not the one of the criterion.")


def _step(round_to: Any) -> Fraction:
    """Return the step as the decimal fraction it was written as."""
    is_number = isinstance(round_to, int | float) and not isinstance(round_to, bool)
    if not is_number or not 1e-6 <= round_to <= 0.5:
        raise InvalidInput(f"round_to must lie between 1e-6 and 0.5; got {round_to!r}.")
    return Fraction(repr(float(round_to)))


def _masses(joint: Joint, members: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Return P(x, y) up to one factor along the members of an output, exactly."""
    columns = joint.counts[:, members].T.tolist()
    return [sum(column) * w for column, w in zip(columns, weights, strict=True)]


def _shares(parts: Sequence[int], whole: int, step: Fraction | None) -> tuple[Interval, ...]:
    """Return the shares of a whole as floats, or as intervals that hold them."""
    if step is None:
        return tuple((part / whole, part / whole) for part in parts)
    ends = (ends_of(Fraction(part, whole), step) for part in parts)
    return tuple((float(low), float(high)) for low, high in ends)


def _plain_columns(columns: Any) -> tuple[dict[str, Any], ...] | None:
    if columns is None:
        return None
    found = list(columns) if isinstance(columns, Iterable) else [columns]
    if not all(isinstance(column, dict) for column in found):
        raise InvalidInput("columns must be a list of dictionaries, one per column of X.")
    try:
        return tuple(json.loads(json.dumps(found, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InvalidInput("columns must hold what JSON can hold.") from error


def _members(given: list[int], n_x: int) -> tuple[int, ...]:
    if len(set(given)) < len(given):
        raise InvalidInput("the members of an output must differ; some do not.")
    if max(given) >= n_x:
        raise InvalidInput("the members of an output must be numbers of symbols of X.")
    return tuple(given)


def _checked(
    values: list[Any], size: int, step: Fraction | None, what: str
) -> tuple[Interval, ...]:
    """Return probabilities, or intervals one step wide between multiples of the step."""
    if len(values) != size:
        raise InvalidInput(f"{what} must have one entry per member of the output.")
    if any(isinstance(value, list) is (step is None) for value in values):
        raise InvalidInput(
            f"{what} must be intervals where probabilities were rounded, only there."
        )
    if step is None:
        return tuple((float(value), float(value)) for value in values)
    for low, high in values:
        start = round(Fraction(low) / step) * step
        if (low, high) != (float(start), float(min(Fraction(1), start + step))):
            raise InvalidInput(f"{what} must be intervals of one step.")
    return tuple((float(low), float(high)) for low, high in values)


def _check_sum(probabilities: Sequence[Interval], rule: str) -> None:
    low, high = (math.fsum(pair[end] for pair in probabilities) for end in (0, 1))
    if low > 1 + _SUM_TOLERANCE or high < 1 - _SUM_TOLERANCE:
        raise InvalidInput(f"{rule}.")


def _rounded_weights(
    saved: dict[str, Any], members: Sequence[tuple[int, ...]], n_x: int, step: Fraction | None
) -> tuple[tuple[Interval, ...], ...]:
    """Return P(y | x) per output from a file that has it in intervals."""
    if saved["denominator"] is not None:
        raise InvalidInput("rounded weights have no denominator.")
    found = tuple(
        _checked(entry["p_y_given_x"], len(xs), step, "P(y|x)")
        for entry, xs in zip(saved["outputs"], members, strict=True)
    )
    rows: list[list[Interval]] = [[] for _ in range(n_x)]
    for xs, pairs in zip(members, found, strict=True):
        for x, pair in zip(xs, pairs, strict=True):
            rows[x].append(pair)
    for row in rows:
        _check_sum(row, "P(y|x) must sum to 1 over y")
    return found


def _channel(
    x_labels: tuple[Label, ...],
    members: Sequence[tuple[int, ...]],
    outputs: Sequence[dict[str, Any]],
    denominator: int | None,
) -> Channel:
    if denominator is None:
        raise InvalidInput("the denominator must be a whole number where weights are given.")
    atoms = [(xs, entry["weights"]) for xs, entry in zip(members, outputs, strict=True)]
    # A joint of any probabilities: only its labels are used.
    names = Joint.from_counts(np.ones((2, len(x_labels)), np.int64), x_labels=x_labels)
    return Channel.from_atoms(names, atoms, denominator, range(len(atoms)))


def _check_names(
    encoding: str,
    labels: tuple[Label, ...],
    texts: tuple[str, ...],
    members: Sequence[tuple[int, ...]],
    x_labels: tuple[Label, ...],
    channel: Channel | None,
) -> None:
    """Refuse outputs that are not called as the encoding calls them."""
    if len(set(texts)) < len(texts):
        raise InvalidInput("the texts of the outputs must be different texts.")
    if encoding == "codes":
        fits = all(type(label) is int and label == y for y, label in enumerate(labels))
    elif encoding == "groups":
        blocks = [tuple(x_labels[x] for x in sorted(xs)) for xs in members]
        fits = channel is not None and is_deterministic(channel) and list(labels) == blocks
    else:
        fits = set(labels) <= set(x_labels)
    if not fits:
        raise InvalidInput(f"the labels of the outputs are not those of {encoding}.")
