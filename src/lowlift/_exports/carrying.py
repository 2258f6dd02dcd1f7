"""Which releases a program without lowlift can carry: what every target refuses."""

from lowlift._record_program import encoded_for_draws, encoded_for_records
from lowlift._release import Release
from lowlift.encodings import Encoded, is_deterministic
from lowlift.errors import InvalidInput


def carried(release: Release, *, has_table: bool = False) -> Encoded:
    """Return a release in the form in which it is published, if a program can draw it.

    A program that has a table, whose rows it can publish, can draw rows of cells; one that is given
    a record cannot.

    Raises
    ------
    BoundViolated
        When its audit is false.
    InvalidInput
        When it was not designed on a table, or publishes rows that the program does not have.
    """
    if not isinstance(release, Release):
        raise InvalidInput(f"release must be a Release; got {type(release).__name__}.")
    return encoded_for_draws(release) if has_table else encoded_for_records(release)


def is_function(encoded: Encoded) -> bool:
    """Tell whether what is published is a function of the record: nothing is drawn, by no key.

    Of rows from cells at least the row inside the cell is drawn.
    """
    return encoded.origin.cells is None and is_deterministic(encoded.channel)
