"""Which releases a program without lowlift can carry: what every target refuses."""

from lowlift._release import Release
from lowlift.encodings import Encoded, is_deterministic, published
from lowlift.errors import InvalidInput
from lowlift.tables.schema import NO_TABLE
from lowlift.workflow.bounds import refuse_false


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
    if release.origin is None:
        raise InvalidInput(NO_TABLE, advice="design")
    encoded = published(release)
    refuse_false(encoded)
    if encoded.origin.cells is not None:
        raise InvalidInput(
            "an export must draw what is published from the record itself; this release publishes "
            f"{encoded.name} of other records of its table, which no program can have inside. "
            "Use apply on the table, or design with bins."
        )
    return encoded


def is_function(encoded: Encoded) -> bool:
    """Tell whether what is published is a function of the record: nothing is drawn, by no key."""
    return is_deterministic(encoded.channel)
