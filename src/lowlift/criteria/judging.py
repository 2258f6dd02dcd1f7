"""How outputs are judged by a criterion; what a user's own criterion returns is checked here."""

import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from functools import cache
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift.criteria.protocol import BuiltIn, Criterion, HalfSpaces
from lowlift.errors import InvalidInput


def check_criterion(criterion: Any) -> None:
    """Refuse what is no criterion, a class instead of an instance, and wrong budgets.

    Raises
    ------
    InvalidInput
        With what to write instead.
    """
    if isinstance(criterion, BuiltIn):
        changed = _changed(type(criterion))
        if changed:
            raise InvalidInput(
                f"a class that inherits from one of lowlift's criteria must change none of its "
                f"parts, which are judged in several ways; {type(criterion).__name__} changes "
                f"{', '.join(changed)}. Write a class of its own with lower, upper, leakage, risk "
                "and verdict."
            )
        return
    if isinstance(criterion, type):
        raise InvalidInput(
            f"criterion must be an instance; got the class {criterion.__name__}. "
            f"Write {criterion.__name__}({_example(criterion)})."
        )
    if not isinstance(criterion, Criterion):
        raise InvalidInput(
            "criterion must be one of lowlift's, or have lower, upper, leakage and risk; got "
            f"{type(criterion).__name__}. For example: lowlift.LIP(0.5)."
        )
    for name in ("lower", "upper"):
        value = getattr(criterion, name)
        if (
            isinstance(value, bool | np.bool_)
            or not isinstance(value, Real)
            or not float(value) >= 0
        ):
            raise InvalidInput(
                f"{type(criterion).__name__}.{name} must be a number of nats, 0 or more (inf "
                f"allowed); got {value!r}."
            )


@cache
def _changed(kind: type) -> list[str]:
    """Return the parts of a built-in criterion that a class of a user defines anew."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("lowlift.criteria.")]
    parts = {name for base in ours for name in vars(base) if not name.startswith(("__", "_abc_"))}
    theirs = {name for base in kind.__mro__ if base not in ours for name in vars(base)}
    return sorted((parts | {"lower", "upper"}) & theirs)


def _example(kind: type) -> str:
    """Return arguments with which a built-in criterion can be made."""
    if not issubclass(kind, BuiltIn):
        return "..."
    names = [field.name for field in fields(kind) if field.default is MISSING]
    if "criterion" in names:
        return "LIP(0.5)"
    return ", ".join({"alpha": "2", "at_least": "0.01"}.get(name, "0.5") for name in names)


def is_certified(criterion: Criterion) -> bool:
    """Tell whether the criterion has an exact verdict."""
    return callable(getattr(criterion, "verdict", None))


def leakage_of(criterion: Criterion, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
    """Return the criterion's leakage of both sides per output: two (|Y|,) arrays without NaN."""
    if isinstance(criterion, BuiltIn):
        return criterion.leakage(lift_sy, p_s)
    found = criterion.leakage(_given(lift_sy), _given(p_s))
    if not isinstance(found, tuple | list) or len(found) != 2:
        _refuse(criterion, "leakage", "two arrays, one of each side", _kind(found))
    lower, upper = (_numbers(criterion, "leakage", part, (lift_sy.shape[1],)) for part in found)
    if -math.inf in lower or -math.inf in upper:
        _refuse(criterion, "leakage", "numbers above -inf", "-inf")
    return lower, upper


def risk_of(criterion: Criterion, lift_sy: Floats, p_s: Floats) -> Floats:
    """Return the criterion's risk per output: (|Y|,) without NaN."""
    if isinstance(criterion, BuiltIn):
        return criterion.risk(lift_sy, p_s)
    found = criterion.risk(_given(lift_sy), _given(p_s))
    return _numbers(criterion, "risk", found, (lift_sy.shape[1],))


def half_spaces_of(criterion: Any, p_s: Floats) -> HalfSpaces:
    """Return the half-spaces that hold on the criterion's region."""
    if isinstance(criterion, BuiltIn):
        return criterion.half_spaces(p_s)
    return _half_spaces(criterion, "half_spaces", criterion.half_spaces(_given(p_s)), len(p_s))


def cut_of(criterion: Any, lift_s: Floats, p_s: Floats) -> HalfSpaces:
    """Return half-spaces that hold on the region and that a lift vector violates."""
    if isinstance(criterion, BuiltIn):
        return criterion.cut(lift_s, p_s)
    return _half_spaces(criterion, "cut", criterion.cut(_given(lift_s), _given(p_s)), len(p_s))


def verdicts(
    criterion: Criterion,
    lift_sy: Floats,
    p_s: Floats,
    error: float,
    posterior: Callable[[int], Sequence[int]],
    prior: Callable[[], Sequence[int]],
) -> Bools:
    """Return per output whether the criterion allows it: exact where the criterion can be.

    Parameters
    ----------
    criterion
        Floats decide where its screen is sure, its exact verdict elsewhere.
    lift_sy, p_s
        Lifts (|S|, |Y|) and P(s), in floats.
    error
        A bound on the relative error of the lifts.
    posterior, prior
        Give whole numbers proportional to P(s, y) for output number y, and to P(s).
    """
    check_criterion(criterion)
    if not is_certified(criterion):
        lower, upper = leakage_of(criterion, lift_sy, p_s)
        return (lower <= criterion.lower) & (upper <= criterion.upper)
    if isinstance(criterion, BuiltIn):
        allowed, refused = criterion.screen(lift_sy, p_s, error)
    else:
        allowed, refused = np.zeros((2, lift_sy.shape[1]), np.bool_)
    doubtful = allowed == refused
    for y in doubtful.nonzero()[0].tolist() if doubtful.any() else ():
        allowed[y] = _verdict(criterion, posterior(y), prior())
    return allowed


def _verdict(criterion: Any, posterior: Sequence[int], prior: Sequence[int]) -> bool:
    found = criterion.verdict(posterior, prior)
    if not isinstance(found, bool | np.bool_):
        _refuse(criterion, "verdict", "True or False", _kind(found))
    return bool(found)


def _half_spaces(criterion: Any, method: str, found: Any, n_s: int) -> HalfSpaces:
    if not isinstance(found, tuple | list) or len(found) != 2:
        _refuse(criterion, method, "normals and offsets (HalfSpaces)", _kind(found))
    offsets = _numbers(criterion, method, found[1], None)
    normals = _numbers(criterion, method, found[0], (len(offsets), n_s))
    if not np.isfinite(normals).all():
        _refuse(criterion, method, "finite normals", "others")
    return HalfSpaces(normals, offsets)


def _numbers(criterion: Any, method: str, found: Any, shape: tuple[int, ...] | None) -> Floats:
    """Return an array of real numbers of this shape (None: of one axis), none of them NaN."""
    wanted = "one axis" if shape is None else f"shape {shape}"
    if not isinstance(found, np.ndarray) or isinstance(found, np.ma.MaskedArray):
        _refuse(criterion, method, f"NumPy arrays of {wanted}", _kind(found))
    if found.dtype.kind not in "fiu":
        _refuse(criterion, method, "arrays of real numbers", f"dtype {found.dtype}")
    if found.ndim != 1 if shape is None else found.shape != shape:
        _refuse(criterion, method, f"arrays of {wanted}", f"shape {found.shape}")
    values = np.array(found, np.float64)
    if np.isnan(values).any():
        _refuse(criterion, method, "numbers, none of them NaN", "NaN")
    return values


def _refuse(criterion: Any, method: str, wanted: str, got: str) -> NoReturn:
    raise InvalidInput(f"{type(criterion).__name__}.{method} must return {wanted}; got {got}.")


def _kind(found: Any) -> str:
    """Return what was found in words that hold no data."""
    if isinstance(found, tuple | list):
        return f"a {type(found).__name__} of {len(found)}"
    return type(found).__name__


def _given(array: Floats) -> Floats:
    """Return a copy that a user's criterion may read, and whose changes reach nobody."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
