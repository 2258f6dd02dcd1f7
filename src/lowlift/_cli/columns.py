"""``lowlift columns``: look at all columns of a table before some are chosen."""

import typer

from lowlift._cli import options as o
from lowlift._cli import output


def columns(
    source: o.Source,
    sensitive: o.Sensitive,
    bins: o.Bin = None,
    engine: o.Engine = None,
) -> None:
    """Look at every column: its kind, what it says about S, and whether it is an identifier.

    Nothing is judged or written: the exit code is 0 unless the input is bad.
    """
    from lowlift.tables import parse_bins
    from lowlift.workflow import profile_columns

    declared = dict(parse_bins(text) for text in bins or ())
    found = profile_columns(source, sensitive, bins=declared, engine=engine)
    output.show(
        lambda: found.to_dict() | {"lines": found.lines(), "notices": found.notices()},
        lambda: typer.echo(str(found)),
    )
