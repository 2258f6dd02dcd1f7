"""The sizes up to which each part answers, read from the code."""

from lowlift.composition import MOST_OUTPUTS
from lowlift.tables.table import _MOST_GROUPS
from lowlift.workflow.choices import _MOST_CELLS, _MOST_OF_TWO


def sizes() -> str:
    """Return a line per limit."""
    lines = [
        f"combinations of values of S and X that are counted: {_MOST_GROUPS:,}",
        f"joint outputs of releases that are audited together: {MOST_OUTPUTS:,}",
        f"values of X for the random response where S has two: {_MOST_OF_TWO:,}",
    ]
    lines += [
        f"|S| |X| for {name}, in a minute or so: {most:,}" for name, most in _MOST_CELLS.items()
    ]
    return "\n".join(lines)
