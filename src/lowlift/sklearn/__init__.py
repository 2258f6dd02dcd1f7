"""A transformer for scikit-learn: `LiftPrivatizer` releases the columns of X in a Pipeline.

Needs ``pip install 'lowlift[sklearn]'``.
"""

from lowlift.errors import MissingExtra

try:
    from lowlift.sklearn.conformance import expected_failed_checks
    from lowlift.sklearn.privatizer import LiftPrivatizer
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] not in {"sklearn", "pandas"}:
        raise
    raise MissingExtra(f"{error.name} is needed: pip install 'lowlift[sklearn]'") from error

__all__ = ["LiftPrivatizer", "expected_failed_checks"]
