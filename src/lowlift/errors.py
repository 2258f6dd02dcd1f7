"""Every exception and warning lowlift raises, and when to catch it.

::

    LowliftError
    ├── InvalidInput (ValueError)     an argument or a file breaks a rule; the message says where
    ├── BoundViolated                 a release whose audit is false was asked to publish
    ├── Infeasible                    no release can satisfy what was asked
    ├── SolverFailed                  a solver stopped without an answer; nothing was released
    └── MissingExtra (ImportError)    an optional package is needed; the message has the pip line

    LowliftWarning (UserWarning)      the input is allowed, but probably not what was meant
"""

__all__ = [
    "BoundViolated",
    "Infeasible",
    "InvalidInput",
    "LowliftError",
    "LowliftWarning",
    "MissingExtra",
    "SolverFailed",
]


class LowliftError(Exception):
    """Base of every lowlift exception."""


class InvalidInput(LowliftError, ValueError):
    """An argument or a file breaks a rule."""


class BoundViolated(LowliftError):
    """A release whose audit is false was asked to publish."""


class Infeasible(LowliftError):
    """No release can satisfy what was asked."""


class SolverFailed(LowliftError):
    """A solver stopped without an answer."""


class MissingExtra(LowliftError, ImportError):
    """An optional package is needed."""


class LowliftWarning(UserWarning):
    """The input is allowed, but probably not what was meant."""
