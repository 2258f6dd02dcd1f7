"""P(X) back from a published table and its codebook."""

from dataclasses import dataclass
from typing import Any

from lowlift.codebook import Codebook
from lowlift.errors import InvalidInput
from lowlift.estimation import Estimate, estimate
from lowlift.tables import OutputColumn, open_table, read_back


@dataclass(frozen=True, eq=False)
class TableEstimate:
    """What a published table says of X."""

    codebook: Codebook
    rows: int
    estimate: Estimate


def estimate_table(
    published: Any, codebook_file: str | Codebook, *, level: float = 0.95, engine: str | None = None
) -> TableEstimate:
    """Estimate the distribution of X by maximum likelihood from the channel alone.

    Parameters
    ----------
    published, engine
        The published table: a frame, a file or a database table, as for `open_table`.
    codebook_file
        Its codebook, or the codebook's file.
    level
        The level of the confidence intervals.

    Raises
    ------
    InvalidInput
        For files that do not fit together.
    """
    codebook = codebook_file
    if not isinstance(codebook, Codebook):
        codebook = Codebook.from_json(codebook)
    try:
        columns = tuple(
            OutputColumn(str(part["name"]), str(part["kind"]), tuple(part["texts"]))
            for part in codebook.columns or ()
        )
    except (KeyError, TypeError) as error:
        raise InvalidInput("the codebook's columns need a name, a kind and texts.") from error
    if any(
        len(column.texts) != len(codebook.labels)
        or not all(isinstance(text, str | None) for text in column.texts)
        for column in columns
    ):
        raise InvalidInput("the codebook's columns need one text per output.")
    if not columns:
        raise InvalidInput("the codebook must say which columns were published; it does not.")
    if codebook.channel is None:
        raise InvalidInput(
            "the codebook was rounded, so its channel is not known; an estimate needs it exact."
        )
    with open_table(published, engine, is_text=True) as table:
        found = read_back(table, columns)
    if found.unknown:
        raise InvalidInput(
            f"{found.unknown:,} of {found.rows:,} rows are no output of the codebook: "
            "it belongs to another table."
        )
    counts = list(found.counts)
    return TableEstimate(codebook, found.rows, estimate(codebook.channel, counts, level))
