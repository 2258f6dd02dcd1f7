"""Publications of the ledger as settings: what is known of them, and what can be asked again."""

from dataclasses import replace
from typing import Any, NamedTuple

from lowlift.criteria import ALIP, LDP, LIP, Chi2Lift, Criterion, L1Lift, MaxLift, Population
from lowlift.errors import InvalidInput
from lowlift.tables.schema import OF_CELLS
from lowlift.web.fields import ENCODINGS
from lowlift.web.settings import Setting
from lowlift.workflow import MECHANISMS
from lowlift.workflow.published import Recorded
from lowlift.workflow.repeating import factor_of

_SINGLE = {LIP: "lip", LDP: "ldp", MaxLift: "max-lift"}
_TWO = {ALIP: "alip", L1Lift: "l1", Chi2Lift: "chi2"}


class Again(NamedTuple):
    """A publication of the ledger as a setting; `is_whole` if nothing of the setting is missing."""

    setting: Setting
    is_whole: bool


def again(found: Recorded, table: str, columns: frozenset[str]) -> Again | None:
    """Return the setting of a publication, as far as it is known.

    Parameters
    ----------
    found
        What the ledger and the release tell.
    table
        The key of the table that it is asked of.
    columns
        The columns of that table.

    Returns
    -------
    None where the promise is not known or has no words in the app, or a column is gone. Whole only
    where the release is there and says all: of rows from cells it does not say what mattered, and
    bins from the data would be taken for declared ones.
    """
    entry = found.entry
    bound = _bound(found.criterion)
    if bound is None or not {*entry.sensitive, *entry.released} <= columns:
        return None
    setting = replace(bound, table=table, sensitive=entry.sensitive, released=entry.released)
    is_rows = entry.encoding in OF_CELLS
    if is_rows:
        setting = replace(setting, cells="auto")
    is_whole = found.is_there and not is_rows and not found.is_from_data and not entry.kept
    is_whole &= found.mechanism in MECHANISMS and entry.encoding in ENCODINGS
    if is_whole:
        more: Any = {"mechanism": found.mechanism, "encoding": entry.encoding}
        setting = replace(setting, bins=found.bins, missing=found.missing, **more)
    elif found.is_there and not found.is_from_data:
        setting = replace(setting, bins=found.bins)
    return Again(setting, is_whole)


def _bound(criterion: Criterion | None) -> Setting | None:
    """Return a setting with the bound of a criterion; None where no setting says just that."""
    plain, start = criterion, Setting()
    if isinstance(criterion, Population):
        plain = criterion.criterion
        start = Setting(audience="population", confidence=criterion.confidence)
    for fields in _candidates(plain):
        setting = replace(start, **fields)
        try:
            if setting.bound() == criterion:
                return setting
        except InvalidInput:
            continue
    return None


def _candidates(plain: Criterion | None) -> list[dict[str, Any]]:
    """Return the fields that may say a criterion, the plainest first."""
    if type(plain) in _SINGLE:
        budget = plain.upper  # type: ignore[union-attr]  # it is one of these
        factor = factor_of(budget) if isinstance(plain, LIP) else ""
        by_name = {"criterion": _SINGLE[type(plain)], "epsilon": budget}  # type: ignore[index]  # as above
        return [*([{"limit": float(factor)}] if factor else []), by_name]
    if type(plain) in _TWO:
        lower, upper = plain.lower, plain.upper  # type: ignore[union-attr]  # it is one of these
        epsilon = lower + upper
        split = lower / epsilon if epsilon else 0.5
        name = _TWO[type(plain)]  # type: ignore[index]  # as above
        return [{"criterion": name, "epsilon": epsilon, "split": split}]
    return []
