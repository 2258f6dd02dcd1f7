"""What the counts of a table say against its columns, in a sentence each."""

from collections.abc import Sequence

from lowlift._joint import Joint
from lowlift.criteria import Criterion, Population
from lowlift.tables import Column, Origin

#: A column with more values than this, and than this share of the rows, is taken for an identifier.
_MOST_VALUES, _MOST_SHARE = 50, 0.9


def cautions(
    joint: Joint, sensitive: Sequence[Column], released: Sequence[Column]
) -> tuple[str, ...]:
    """Return warnings: X determines S, or a released column is nearly unique.

    Examples
    --------
    >>> joint = Joint.from_counts([[3, 0], [0, 4]], ["no", "yes"], ["a", "b"])
    >>> cautions(joint, [Column("sick", "text")], [Column("ward", "text")])[0].partition(":")[0]
    "'ward' determines 'sick'"
    """
    rows = int(joint.counts.sum())
    x, s = (", ".join(repr(column.name) for column in part) for part in (released, sensitive))
    found = []
    for k, column in enumerate(released):
        values = {label[k] if isinstance(label, tuple) else label for label in joint.x_labels}
        if len(values) > _MOST_VALUES and len(values) > _MOST_SHARE * rows:
            found.append(
                f"{column.name!r} is nearly unique ({len(values):,} values in {rows:,} rows), so "
                "it identifies people. Leave it out, or give it wider bins."
            )
    if len(released) > 1 and joint.n_x > _MOST_VALUES and joint.n_x > _MOST_SHARE * rows:
        found.append(
            f"{x} together are nearly unique ({joint.n_x:,} combinations in {rows:,} rows), so "
            "they identify people. Release fewer columns, or use wider bins."
        )
    if joint.n_s > 1 and bool(((joint.counts > 0).sum(axis=0) == 1).all()):
        each = "value" if len(released) == 1 else "combination of values"
        found.append(
            f"{x} {'determines' if len(released) == 1 else 'determine'} {s}: every {each} comes "
            f"with one value of {s} only, so that publishing it as it is reveals {s}."
        )
    return tuple(found)


def sampled_bins(origin: Origin, criterion: Criterion) -> tuple[str, ...]:
    """Return a warning where bins were cut by the rows that a population is told from."""
    if not (isinstance(criterion, Population) and origin.from_data):
        return ()
    names = ", ".join(map(repr, origin.from_data))
    line = (
        f"the bins of {names} were cut at quantiles of these rows, so that the confidence is "
        "approximate. Declare edges that do not depend on the rows."
    )
    return (line,)
