"""Checks of arguments that many functions share; each error names the parameter."""

from collections.abc import Sequence
from typing import Any

from lowlift.errors import InvalidInput


def check_callable(value: Any, parameter: str) -> None:
    """Refuse what is neither None nor a function."""
    if value is not None and (not callable(value) or isinstance(value, type)):
        raise InvalidInput(f"{parameter} must be a function; got {type(value).__name__}.")


def check_choice(value: Any, parameter: str, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        got = repr(value) if isinstance(value, str) else type(value).__name__
        raise InvalidInput(f"{parameter} must be one of {', '.join(choices)}; got {got}.")


def check_instance(value: Any, kind: type, parameter: str, hint: str = "") -> None:
    """Refuse what is not of this class; `hint` says what to write."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        said = f"{parameter} must be {article} {kind.__name__}; got {type(value).__name__}."
        raise InvalidInput(f"{said} {hint}".rstrip())


def check_positive(value: Any, parameter: str) -> None:
    """Refuse what is not a positive number; inf is one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not value > 0 or (isinstance(value, int) and value.bit_length() > 1000):
        got = repr(value) if is_number and not abs(value) >= 1e300 else type(value).__name__
        raise InvalidInput(f"{parameter} must be positive; got {got}.")
