"""A setting is a URL: which table, columns, bound and mechanism; no data value is in it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from lowlift.criteria import Criterion
from lowlift.errors import InvalidInput
from lowlift.tables.bins import as_bins_by_name
from lowlift.tables.columns import MISSING
from lowlift.workflow import CRITERIA, MECHANISMS, Asked, criterion_of

#: Criteria with one budget, which lambda does not divide.
SINGLE = frozenset({"lip", "ldp", "max-lift"})
#: Empty: the mechanism's own.
ENCODINGS = ("", "codes", "groups", "values")
#: Settings beside each other.
MOST_PINNED = 3
#: The longest search.
MOST_SECONDS = 3600
_NAMES = ("missing", "criterion", "mechanism", "encoding")
_NUMBERS = ("epsilon", "split", "alpha", "seconds")


@dataclass(frozen=True)
class Setting:
    """What a user chose; hashable, so that results are found again."""

    table: str = ""
    sensitive: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    #: Bins as texts of the grammar of ``--bin``, by column.
    bins: tuple[tuple[str, str], ...] = ()
    missing: str = "value"
    criterion: str = "alip"
    epsilon: float = 2.0
    split: float = 0.5
    alpha: float = 2.0
    mechanism: str = "subset-merging"
    encoding: str = ""
    seconds: float = 60.0

    @classmethod
    def of(cls, query: Iterable[tuple[str, str]]) -> Self:
        """Return the setting of a query; what is not about it is left aside."""
        pairs = [(name, value) for name, value in query if value != ""]
        last = dict(pairs)
        given: dict[str, Any] = {name: last[name] for name in _NAMES if name in last}
        for name in _NUMBERS:
            if name in last:
                given[name] = _number(name, last[name])
        # A form says what each column is; a link lists the columns of each kind.
        roles = [(value, name[5:]) for name, value in pairs if name.startswith("role:")]
        pairs += [(role, name) for role, name in roles if role in {"s", "x"}]
        used = {value for name, value in pairs if name in {"s", "x"}}
        bins = ((name[4:], value.strip()) for name, value in pairs if name.startswith("bin:"))
        found = cls(
            last.get("table", ""),
            tuple(dict.fromkeys(value for name, value in pairs if name == "s")),
            tuple(dict.fromkeys(value for name, value in pairs if name == "x")),
            tuple((name, text) for name, text in dict(bins).items() if name in used),
            **given,
        )
        choices: Mapping[str, Iterable[str]] = {
            "criterion": CRITERIA,
            "mechanism": MECHANISMS,
            "encoding": ENCODINGS,
            "missing": MISSING,
        }
        for name, allowed in choices.items():
            if getattr(found, name) not in allowed:
                raise InvalidInput(f"{name} must be one of {', '.join(filter(None, allowed))}.")
        return found

    @property
    def is_chosen(self) -> bool:
        """Whether there is something to publish and something to protect."""
        return bool(self.table and self.sensitive and self.released)

    @property
    def query(self) -> str:
        """The setting as a query, the same for the same setting."""
        pairs = [("table", self.table)]
        pairs += [("s", name) for name in self.sensitive]
        pairs += [("x", name) for name in self.released]
        pairs += [(f"bin:{name}", text) for name, text in self.bins]
        pairs += [(name, getattr(self, name)) for name in _NAMES if getattr(self, name)]
        numbers = [name for name in _NUMBERS if name != "split" or self.criterion not in SINGLE]
        numbers = [name for name in numbers if name != "alpha" or self.criterion == "alpha"]
        pairs += [(name, shortest(getattr(self, name))) for name in numbers]
        return urlencode(pairs)

    @property
    def columns(self) -> "Setting":
        """The same columns of the same table, whatever the bound."""
        return Setting(self.table, self.sensitive, self.released, self.bins, self.missing)

    @property
    def family(self) -> "Setting":
        """Budgets near this one: they share a trade-off curve, which reaches beyond both ends."""
        near = 2.0 ** round(math.log2(max(self.epsilon, 1e-6)))
        bound = replace(self.columns, criterion=self.criterion, epsilon=near)
        return replace(bound, split=self.split, alpha=self.alpha)

    def asked(self) -> Asked:
        """Return the columns as the workflow takes them."""
        bins = as_bins_by_name(dict(self.bins))
        return Asked(self.sensitive, self.released, bins, self.missing)

    def bound(self) -> Criterion:
        """Return the criterion with its budgets."""
        return criterion_of(
            self.criterion,
            epsilon=self.epsilon,
            split=None if self.criterion in SINGLE else self.split,
            alpha=self.alpha if self.criterion == "alpha" else None,
        )


def shortest(value: float) -> str:
    """Return the shortest text that is read back as the same number.

    Examples
    --------
    >>> shortest(2.0), shortest(1.2345674)
    ('2', '1.2345674')
    """
    text = f"{value:g}"
    return text if float(text) == value else repr(value)


def pinned_of(query: Iterable[tuple[str, str]]) -> list[Setting]:
    """Return the settings to compare, from the first to the third."""
    texts = dict.fromkeys(value for name, value in query if name == "setting")
    return [Setting.of(parse_qsl(text)) for text in list(texts)[:MOST_PINNED]]


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InvalidInput(f"{name} must be a number, 0 or more.")
    if name == "seconds" and not 1 <= value <= MOST_SECONDS:
        raise InvalidInput(f"the time limit must lie between 1 and {MOST_SECONDS} seconds.")
    return value
