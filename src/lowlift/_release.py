"""A channel with the joint and criterion it was made for, and its audit; saved and loaded."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats, Ints
from lowlift._audit import Audit, audit, audit_card
from lowlift._certificates import Certificate
from lowlift._channel import Channel
from lowlift._draw import draw
from lowlift._files import read_json, refusing_damage, write_text
from lowlift._joint import Joint, Label
from lowlift._partition import Partition
from lowlift._release_files import (
    BEFORE_ENCODING,
    VERSION,
    check_stored_audit,
    content_of,
    draws_of,
    parts_of,
)
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables.layouts import Layout, Refines
from lowlift.tables.schema import Origin, Schema

if TYPE_CHECKING:
    from lowlift.figures import Picture
    from lowlift.records import OneRecord
    from lowlift.workflow import Recording


Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What a mechanism returns: a channel, what it was made for, and the verdict on it.

    Use `Release.of` to make one: it audits the channel that ships.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    >>> release = ll.subset_merging(joint, ll.LIP(0.5))
    >>> release
    <Release |X|=3 |Y|=2 satisfied nmi=0.666667>
    >>> release.partition
    Partition([['a', 'b'], ['c']])
    >>> release.sample("abc")
    [('a', 'b'), ('a', 'b'), 'c']
    """

    joint: Joint
    channel: Channel
    criterion: Criterion
    audit: Audit
    #: The blocks that were merged, of a mechanism that merges.
    partition: Partition | None = None
    #: What is proven about the best release, of a mechanism that proves it.
    certificate: Certificate | None = None
    mechanism: str = ""
    #: False where values are published and this is not yet their channel, which
    #: `lowlift.encodings.published` makes: two channels must not be drawn from on the same rows.
    is_encoded: bool = True
    #: Which uniform numbers draw which output by a key; None: as the alias table of the channel.
    draws: Layout | None = None
    #: The release that this one refines; its outputs are drawn given those of that one.
    refines: Refines | None = None

    @classmethod
    def of(
        cls,
        joint: Joint,
        channel: Channel,
        criterion: Criterion,
        *,
        partition: Partition | None = None,
        certificate: Certificate | None = None,
        mechanism: str = "",
    ) -> Self:
        """Return the release of this very channel, audited.

        Examples
        --------
        >>> from lowlift.criteria import MaxLift
        >>> joint = Joint.from_counts([[1, 3], [3, 1]])
        >>> Release.of(joint, Channel.identity(joint), MaxLift(0.5))
        <Release |X|=2 |Y|=2 satisfied nmi=1.000000>
        """
        verdict = audit(joint, channel, criterion)
        is_encoded = joint.origin is None or joint.origin.encoding != "values"
        parts = partition, certificate, mechanism, is_encoded
        return cls(joint, channel, criterion, verdict, *parts)

    def with_partition(self, partition: Partition | None) -> Self:
        """Return the same release with this partition."""
        return replace(self, partition=partition)

    def with_certificate(self, certificate: Certificate) -> Self:
        """Return the same release with this certificate."""
        return replace(self, certificate=certificate)

    def with_table(self, table: Origin | Mapping[str, Any] | None) -> Self:
        """Return the same release with the table's columns, which its file then holds too.

        Parameters
        ----------
        table
            Columns and table, or the same as plain data (`Origin.to_dict`); None for no table.
        """
        origin = table if isinstance(table, Origin | None) else Origin.from_dict(table)
        return replace(self, joint=self.joint.with_table(origin))

    @property
    def origin(self) -> Origin | None:
        """The columns that were counted, and where; None when it was not designed on a table."""
        found: Origin | None = self.joint.origin
        return found

    @property
    def table(self) -> dict[str, Any] | None:
        """`origin` as plain data, as the release's file holds it."""
        return None if self.origin is None else self.origin.to_dict()

    @property
    def schema(self) -> Schema | None:
        """The columns that the release is about; None when it was not designed on a table."""
        return None if self.origin is None else self.origin.schema

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what a draw depends on: the channel and the labels of X and Y."""
        channel = self.channel
        parts = {
            "x_labels": self.joint.x_labels,
            "y_labels": channel.y_labels,
            "denominator": channel.denominator,
            "atoms": [channel.atom(y) for y in range(channel.n_y)],
        }
        for name in ("draws", "refines"):
            if getattr(self, name) is not None:
                parts[name] = getattr(self, name).to_dict()
        text = json.dumps(parts, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        word = "satisfied" if self.audit.is_satisfied else "VIOLATED"
        sizes = f"|X|={self.joint.n_x} |Y|={self.channel.n_y}"
        return f"<Release {sizes} {word} nmi={self.audit.nmi:.6f}>"

    @property
    def p_x_given_y(self) -> Floats:
        """P(x | y), (|X|, |Y|): what a reader of y may believe about x."""
        joint = self.channel.p_y_given_x * self.joint.p_x[:, None]
        return np.asarray(joint / joint.sum(axis=0))

    def sample(
        self, labels: Iterable[Any], seed: Seed = None, *, allow_unsatisfied: bool = False
    ) -> list[Label]:
        """Return one released label per label of X, drawn by the channel that was audited.

        Parameters
        ----------
        labels
            Labels of X, in any number.
        seed
            None draws from the operating system's entropy; a seed repeats the draw, and whoever
            knows it can undo the randomisation.
        allow_unsatisfied
            Draw even though the audit is false.

        Raises
        ------
        BoundViolated
            When the audit is false.
        InvalidInput
            When a label is not a symbol of X, or the file was of version 1 and the channel in it is
            not the one that was published.

        Examples
        --------
        >>> from lowlift.criteria import MaxLift
        >>> joint = Joint.from_counts([[1, 3], [3, 1]], x_labels=["a", "b"])
        >>> Release.of(joint, Channel.identity(joint), MaxLift(0.5)).sample(["b", "a", "b"])
        ['b', 'a', 'b']
        """
        number = {label: x for x, label in enumerate(self.joint.x_labels)}
        asked = [tuple(label) if isinstance(label, list) else label for label in labels]
        try:
            indices = [number.get(label, -1) for label in asked]
        except TypeError as error:
            raise InvalidInput("labels must be labels of X, which can be hashed.") from error
        unknown = [place for place, x in enumerate(indices) if x < 0]
        if unknown:
            raise InvalidInput(
                f"labels must be symbols of X; {len(unknown)} of {len(asked)} are not, "
                f"the first at position {unknown[0]}. Design the release on a table that has them."
            )
        drawn = self.sample_indices(
            np.array(indices, np.int64), seed, allow_unsatisfied=allow_unsatisfied
        )
        return [self.channel.y_labels[y] for y in drawn.tolist()]

    def sample_indices(
        self, indices: npt.ArrayLike, seed: Seed = None, *, allow_unsatisfied: bool = False
    ) -> Ints:
        """Return one output number per number of a symbol of X; see `sample`."""
        if not self.is_encoded:
            raise InvalidInput(
                "this release must be encoded before it is drawn from: its values are published "
                "by another channel than the one it holds. Use release.apply(table), or "
                "lowlift.encodings.published(release).release."
            )
        self.refuse_fresh()
        if not (self.audit.is_satisfied or allow_unsatisfied):
            raise BoundViolated(
                f"this release does not satisfy {self.criterion}: "
                f"{len(self.audit.violations)} of {self.channel.n_y} outputs break it. "
                "Use a mechanism that repairs it, or pass allow_unsatisfied=True to draw anyway."
            )
        return draw(self.channel, indices, seed)

    @property
    def is_function_first(self) -> bool:
        """Whether x alone tells the output of the release that this one refines, if any."""
        if self.refines is None:
            return True
        parents = np.array(self.refines.parents)[self.channel.entry_outputs]
        order = np.argsort(self.channel.members, kind="stable")
        is_next = np.diff(self.channel.members[order]) > 0
        return bool((is_next | (np.diff(parents[order]) == 0)).all())

    def refuse_fresh(self) -> None:
        """Refuse draws that are not made given the outputs of the release that this one refines."""
        if not self.is_function_first:
            raise InvalidInput(
                "this release refines another and must be drawn given what that one published; a "
                "fresh draw is a further release. Give the id column and the key that the first "
                "was drawn by, or use Refinement.sample."
            )

    def apply(
        self,
        table: Any,
        *,
        id: str | None = None,  # noqa: A002 (as in the options of every way to publish)
        key: bytes | None = None,
        seed: int | None = None,
        keep: Sequence[str] = (),
        keep_order: bool = False,
        unseen: str = "error",
        accept_uncovered: bool = False,
        accept_unchecked: bool = False,
        engine: str | None = None,
        ledger: "str | os.PathLike[str] | Recording | None" = None,
    ) -> Any:
        """Return a table with a released row for each row of a table.

        Parameters
        ----------
        table
            A pandas, polars, Arrow or Spark frame, a DuckDB relation, or anything that
            `lowlift.tables.open_table` takes, with the columns of the schema.
        id, key
            Draw by a column of ids and a key of 32 bytes, so that repeating repeats the draws. Of
            rows from cells, the cells stay when rows are added to the table; the rows that are
            published from them may be others.
        seed
            For tests, never for publication: who knows it can undo the draws.
        keep
            Columns to keep as they are; the audit is then of both together.
        keep_order
            Keep the order and the index of the rows, which is outside the guarantee.
        unseen
            What to do with values that the design did not have: "error", or "suppress" (leave
            those rows out).
        accept_uncovered, accept_unchecked
            Publish although the bound does not hold with the kept columns; although a sensitive
            column is not in the table, so that the bound cannot be checked on it.
        ledger
            As for `lowlift.sanitize`; the people of a frame need a name, so give a
            `lowlift.workflow.Recording`.

        Returns
        -------
        A frame of the library that came in (a pandas or Arrow one for files and databases). Rows
        are in random order unless `keep_order`.

        Raises
        ------
        BoundViolated
            When the bound does not hold, for the release or on this table, or cannot be checked.
        InvalidInput
            For a table or columns that do not fit.

        Guarantee
            The channel, audited anew under this table's own counts of S by X, satisfies the
            criterion; what is returned was read back and is what was drawn. Of a release for the
            population (`Population`): the rows do not prove, with an error of at most
            1 - confidence, that its bound is broken.
        """
        from lowlift.workflow.applying import Options, apply_to_frame

        drawn = keep, accept_uncovered, keep_order, id, key, seed, unseen
        options = Options(*drawn, accept_unchecked=accept_unchecked, recording=ledger)
        return apply_to_frame(table, self, options, engine=engine)[0]

    def apply_one(
        self,
        record: Mapping[str, Any],
        *,
        id: Any = None,  # noqa: A002 (as in the options of every way to publish)
        key: bytes | None = None,
        unseen: str = "error",
    ) -> dict[str, Any] | None:
        """Return what is published for one record, where it is collected.

        The first call makes the tables of `lowlift.records.OneRecord`, which has the parameters
        and the guarantee; the next ones take some microseconds and load no solver.
        """
        return self._one_record.draw(record, id=id, key=key, unseen=unseen)

    @cached_property
    def _one_record(self) -> "OneRecord":
        from lowlift.records import OneRecord

        return OneRecord(self)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file: atomically, and readable by its owner only (it has P_SX).

        Raises
        ------
        InvalidInput
            When the criterion is not a built-in one.
        """
        write_text(path, self.to_text(), is_private=True)

    def to_text(self) -> str:
        """Return the content of the release's file; see `to_json`."""
        return json.dumps(content_of(self), allow_nan=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a release, audit its channel anew, and refuse it if the stored audit disagrees.

        Raises
        ------
        InvalidInput
            For a file that is no release, of another version, truncated, or whose parts or stored
            audit do not fit together.
        """
        saved = read_json(path, "release", BEFORE_ENCODING, VERSION)
        name = Path(path).name
        with refusing_damage(name):
            release = cls.of(**parts_of(saved))
        check_stored_audit(release.audit, saved["audit"], name)
        # The other encodings publish the very channel that version 1 holds.
        is_encoded = saved["version"] != BEFORE_ENCODING or release.is_encoded
        with refusing_damage(name):
            return replace(release, is_encoded=is_encoded, **draws_of(saved, release))

    def _repr_html_(self) -> str:
        """Return verdict, bound and the first outputs, as a notebook shows them."""
        return release_card(self)

    def plot(self) -> "Picture":
        """Draw the log-lifts of what is published, S by Y; see `Audit.plot`."""
        return self.audit.plot()


def release_card(
    release: Release, facts: Iterable[tuple[str, str]] = (), *, holds: bool = True
) -> str:
    """Return a release as HTML; with `holds` False, something else than its outputs breaks it."""
    by = f" by {release.mechanism}" if release.mechanism else ""
    proven = [] if release.certificate is None else [("Proven", release.certificate.proven)]
    title = f"Release{by} under {release.criterion}"
    return audit_card(release.audit, title, [*proven, *facts], holds=holds)
