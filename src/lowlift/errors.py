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

from collections.abc import Mapping

__all__ = [
    "BoundViolated",
    "Infeasible",
    "InvalidInput",
    "LowliftError",
    "LowliftWarning",
    "MissingExtra",
    "SolverFailed",
]


#: What to do about an error, by the name of the advice, for someone who writes Python. The command
#: line and the web have tables of the same keys (`_cli.words`, `web.words`).
ADVICE: Mapping[str, str] = {
    "bins": "Declare them, such as bins={{{column!r}: {example!r}}}; other forms: {forms}.",
    "cells": 'Or publish rows: cells="auto".',
    "design": "Make one with lowlift.workflow.design.",
    "first": "Pass first, the table that was published first.",
    "held": "Refine what was published (lowlift.refine), publish the same draws again (the same "
    "release, id and key), or publish to another recipient.",
    "https": "Pass certificate and key.",
    "key": "Make one with lowlift.workflow.new_key.",
    "missing": 'Design with missing="value", or remove them.',
    "overwrite": "Choose another name, or pass force=True.",
    "remote": "Pass password, certificate and key, or leave host out: only this machine gets in.",
    "subkey": "Name that table with key_table, or leave the view out.",
    "unaudited": "Name the files of the earlier releases (Recording(releases=...)), or accept it "
    "with Recording(accept_unaudited=True).",
    "unchecked": "To accept it, pass accept_unchecked=True.",
    "uncovered": "Release those columns too, leave them out, or pass accept_uncovered=True.",
}


class LowliftError(Exception):
    """Base of every lowlift exception.

    Parameters
    ----------
    message
        What is wrong, in words that fit every interface.
    advice
        A key of ``ADVICE``: what to do about it, which each interface says in its own words.
    values
        What the words of the advice need.

    Examples
    --------
    >>> str(InvalidInput("safe.csv exists.", advice="overwrite"))
    'safe.csv exists. Choose another name, or pass force=True.'
    >>> InvalidInput("safe.csv exists.", advice="overwrite").said({"overwrite": "Use --force."})
    'safe.csv exists. Use --force.'
    """

    def __init__(self, message: str = "", *, advice: str = "", **values: object) -> None:
        super().__init__(message)
        self.message, self.advice, self.values = message, advice, values

    def said(self, words: Mapping[str, str]) -> str:
        """Return the message, and the advice in the words of an interface."""
        return " ".join(filter(None, (self.message, self.advised(words))))

    def advised(self, words: Mapping[str, str]) -> str:
        """Return the advice in the words of an interface; empty where the message has it."""
        return words[self.advice].format(**self.values) if self.advice else ""

    def __str__(self) -> str:
        return self.said(ADVICE)


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
