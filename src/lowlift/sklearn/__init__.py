"""A transformer for scikit-learn: `LiftPrivatizer` releases the columns of X in a Pipeline.

Needs ``pip install 'lowlift[sklearn]'``.
"""

from lowlift.errors import MissingExtra

try:
    import pandas as pd  # noqa: F401 (is it installed?)
    import sklearn  # noqa: F401 (is it installed?)
except ModuleNotFoundError as error:
    raise MissingExtra(f"{error.name} is needed: pip install 'lowlift[sklearn]'") from error

from lowlift.sklearn.conformance import expected_failed_checks
from lowlift.sklearn.privatizer import LiftPrivatizer

__all__ = ["LiftPrivatizer", "expected_failed_checks"]
