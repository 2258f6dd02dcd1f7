"""Which releases a program without lowlift can carry: what every target refuses."""

from lowlift._record_program import encoded_for_records
from lowlift._release import Release
from lowlift.encodings import Encoded, is_deterministic
from lowlift.errors import InvalidInput


def carried(release: Release) -> Encoded:
    """Return a release in the form in which it is published, if a program can draw it.

    Raises
    ------
    BoundViolated
        When its audit is false.
    InvalidInput
        When it was not designed on a table, or publishes rows of cells.
    """
    if not isinstance(release, Release):
        raise InvalidInput(f"release must be a Release; got {type(release).__name__}.")
    return encoded_for_records(release)


def is_function(encoded: Encoded) -> bool:
    """Tell whether what is published is a function of the record: nothing is drawn, by no key."""
    return is_deterministic(encoded.channel)
