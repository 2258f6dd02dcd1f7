"""A setting is a URL: which table, columns, bound and mechanism; no data value is in it."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from lowlift._guarantees import ends_of
from lowlift._rounding import at_most
from lowlift.criteria import Criterion, Population
from lowlift.errors import InvalidInput
from lowlift.tables.bins import as_bins_by_name
from lowlift.tables.columns import Column
from lowlift.web.fields import disorder, fields_of
from lowlift.web.words import CRITERIA, message_of, name_of
from lowlift.workflow import Asked, criterion_of
from lowlift.workflow.budgets import at_most_of
from lowlift.workflow.criteria import SINGLE
from lowlift.workflow.overview import Overview

#: What a change of a column counts, by the words of the page.
WEIGHTS: Mapping[str, float] = {"less": 0.3, "normal": 1.0, "more": 3.0}
#: Settings beside each other.
MOST_PINNED = 4
#: A larger budget is not written as a factor.
_MOST_NATS = 700
#: Kinds that have no symbols without bins; and how many columns a message names.
_MUST_HAVE_BINS, _MOST_NAMED = frozenset({"integer", "real", "timestamp"}), 3


@dataclass(frozen=True)
class Setting:
    """What a user chose; hashable, so that results are found again."""

    table: str = ""
    sensitive: tuple[str, ...] = ()
    #: Empty: all columns but the sensitive ones and identifiers (see `on`).
    released: tuple[str, ...] = ()
    #: Bins as texts of the grammar of ``--bin``, by column.
    bins: tuple[tuple[str, str], ...] = ()
    missing: str = "value"
    #: How many times as likely a sensitive value may become; holds unless there is a criterion.
    limit: float = 2.0
    #: A criterion by name, with its budgets in nats; empty: the limit.
    criterion: str = ""
    epsilon: float = 2.0
    split: float = 0.5
    alpha: float = 2.0
    #: The least that a reader's prior gives each value, of the criterion for every prior.
    at_least: float = 0.01
    #: Whether the rows are everybody ("table") or a sample of a "population", with a confidence.
    audience: str = "table"
    confidence: float = 0.95
    #: Columns that matter "less" or "more" than others.
    weights: tuple[tuple[str, str], ...] = ()
    #: "auto", a number, or empty: decided by the columns.
    cells: str = ""
    mechanism: str = "auto"
    encoding: str = ""
    seconds: float = 60.0
    #: Whether all columns are left out on purpose.
    is_empty: bool = False
    #: Bins that keep each of few whole numbers apart, as the table has them: not in the query. They
    #: hold for columns without bins where others have some.
    single: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, query: Iterable[tuple[str, str]]) -> Self:
        """Return the setting of a query; what is not about it is left aside."""
        found, faults = cls.read(query)
        for message in faults.values():
            raise InvalidInput(message)
        return found

    @classmethod
    def read(cls, query: Iterable[tuple[str, str]]) -> tuple[Self, dict[str, str]]:
        """Return the setting of a query, and what is wrong with it by the field's name.

        A wrong field has its default, but for bins, which are kept as they were written.
        """
        every = list(query)
        pairs = [(name, value) for name, value in every if value != ""]
        last = dict(pairs)
        given, faults = fields_of(last, frozenset(dict(every)) - set(last))
        # A form says what each column is; a link lists the columns of each kind.
        roles = [(value, name[5:]) for name, value in every if name.startswith("role:")]
        pairs += [(role, name) for role, name in roles if role in {"s", "x"}]
        columns = {
            kind: tuple(dict.fromkeys(value for name, value in pairs if name == kind))
            for kind in ("s", "x")
        }
        is_empty = not columns["x"] and (bool(roles) or ("x", "") in every)
        used = {*columns["s"], *columns["x"]}
        bins = {name[4:]: value.strip() for name, value in pairs if name.startswith("bin:")}
        weights = {name[7:]: value for name, value in pairs if name.startswith("weight:")}
        found = cls(
            last.get("table", ""),
            columns["s"],
            columns["x"],
            tuple((name, text) for name, text in bins.items() if name in used or not columns["x"]),
            weights=tuple(
                (name, word)
                for name, word in weights.items()
                if word in WEIGHTS and word != "normal" and name not in columns["s"]
            ),
            is_empty=is_empty,
            **given,
        )
        faults |= {f"weight:{n}": "a weight is less, normal or more." for n, w in weights.items()
                   if w not in WEIGHTS}  # fmt: skip
        return found, faults | found.wrong_bins()

    def wrong_bins(self, kinds: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return what is wrong with bins, also for the kinds of columns, by the field's name."""
        found = {}
        for name, text in self.bins:
            try:
                bins = as_bins_by_name({name: text})[name]
                if kinds is not None:
                    Column(name, kinds.get(name, "other"), bins)
            except InvalidInput as error:
                words = message_of(error)
                words = words if repr(name) in words else f"{name!r}: {words}"
                found[f"bin:{name}"] = disorder(text) or words
        return found | ({} if found or kinds is None else self._lonely_bins(kinds))

    def _lonely_bins(self, kinds: Mapping[str, str]) -> dict[str, str]:
        """Return what is wrong when some numbers to publish have bins and others have none."""
        plain = self.ungrouped(kinds)
        if not plain:
            return {}
        bins = dict(self.bins)
        first = next(name for name in self.released if name in bins)
        verb = "has" if len(plain) == 1 else "have"
        rest = f" and {len(plain) - _MOST_NAMED} more" if len(plain) > _MOST_NAMED else ""
        message = (
            f"with groups for {first!r}, other numbers must have groups too: "
            f"{', '.join(map(repr, plain[:_MOST_NAMED]))}{rest} {verb} none. "
            "Group them, leave them out, or take automatic groups for all."
        )
        return {f"bin:{first}": message}

    def ungrouped(self, kinds: Mapping[str, str]) -> list[str]:
        """Return the numbers to publish that lack groups where another column has some."""
        bins, single = dict(self.bins), dict(self.single)
        if self.is_empty or not bins.keys() & set(self.released):
            return []
        return [
            name
            for name in self.released
            if name not in bins and name not in single and kinds.get(name) in _MUST_HAVE_BINS
        ]

    @property
    def is_chosen(self) -> bool:
        """Whether there is something to publish and something to protect."""
        return bool(self.table and self.sensitive) and not self.is_empty

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The setting as names and values, the same for the same setting; also hidden fields."""
        pairs = [("table", self.table)]
        pairs += [("s", name) for name in self.sensitive]
        pairs += [("x", name) for name in self.released] + [("x", "")] * self.is_empty
        pairs += [(f"bin:{name}", text) for name, text in self.bins]
        pairs += [(f"weight:{name}", word) for name, word in self.weights]
        pairs += self._bound_pairs()
        pairs.append(("mechanism", self.mechanism))
        default = Setting()
        for name in ("missing", "audience", "confidence", "cells", "encoding", "seconds"):
            value = getattr(self, name)
            if value != getattr(default, name):
                pairs.append((name, value if isinstance(value, str) else shortest(value)))
        return pairs

    def _bound_pairs(self) -> list[tuple[str, str]]:
        if not self.criterion:
            return [("limit", shortest(self.limit))]
        names = ["epsilon"] + ["split"] * (self.criterion not in SINGLE)
        names += ["alpha"] * (self.criterion == "alpha")
        names += ["at_least"] * (self.criterion == "every-prior")
        budgets = [(name, shortest(getattr(self, name))) for name in names]
        return [("criterion", self.criterion), *budgets]

    @property
    def query(self) -> str:
        """The setting as a query, the same for the same setting."""
        return urlencode(self.pairs)

    def on(self, overview: Overview) -> "Setting":
        """Return the setting for a table that was looked at.

        If no column to publish was named, those that are publishable are, but S; where that leaves
        none, all are left out.
        """
        released, is_empty = self.released, self.is_empty
        if not released and not self.is_empty:
            released = tuple(n for n in overview.publishable if n not in self.sensitive)
        is_empty = is_empty or (bool(self.sensitive) and not released)
        single = tuple(overview.single.items())
        return replace(self, released=released, is_empty=is_empty, single=single)

    @property
    def columns(self) -> "Setting":
        """The same columns of the same table, whatever the bound."""
        return Setting(self.table, self.sensitive, self.released, self.bins, self.missing)

    @property
    def counted(self) -> "Setting":
        """What the counts of a design depend on: all but the budgets."""
        same = replace(self, limit=Setting.limit, epsilon=Setting.epsilon, split=Setting.split)
        same = replace(same, alpha=Setting.alpha, at_least=Setting.at_least)
        return replace(same, confidence=Setting.confidence, seconds=60.0)

    @property
    def family(self) -> "Setting":
        """The same setting whatever its limit: what shares a trade-off."""
        return replace(self, limit=Setting.limit, epsilon=Setting.epsilon, seconds=Setting.seconds)

    @property
    def budget(self) -> float:
        """The number that a trade-off moves: the limit, or the budget in nats of a criterion."""
        return self.epsilon if self.criterion else self.limit

    def at(self, budget: float) -> "Setting":
        """Return the setting with another `budget`."""
        return replace(self, epsilon=budget) if self.criterion else replace(self, limit=budget)

    def asked(self) -> Asked:
        """Return the columns as the workflow takes them."""
        used = {*self.sensitive, *self.released}
        texts = {name: text for name, text in self.bins if name in used}
        if texts.keys() & set(self.released):
            texts = {name: text for name, text in self.single if name in self.released} | texts
        bins = as_bins_by_name(texts)
        weights = {name: WEIGHTS[word] for name, word in self.weights if name in self.released}
        cells = int(self.cells) if self.cells.isdecimal() else self.cells or None
        if cells is None and weights:
            cells = "auto"  # what only rows have
        more: Any = {"cells": cells, "weights": weights}
        return Asked(self.sensitive, self.released, bins, self.missing, **more)

    @property
    def preferred_encoding(self) -> str | None:
        """How symbols are written, if they can be, when no encoding is asked for."""
        return "values" if self.mechanism == "auto" else None

    def bound(self) -> Criterion:
        """Return the criterion with its budgets, for the rows or for whom they are a sample of."""
        found = self._plain_bound()
        if self.audience == "table":
            return found
        return Population(found, self.confidence)  # type: ignore[arg-type]  # it checks its argument

    def _plain_bound(self) -> Criterion:
        if not self.criterion:
            return at_most_of([shortest(self.limit)], self.sensitive)
        return criterion_of(
            self.criterion,
            epsilon=self.epsilon,
            split=None if self.criterion in SINGLE else self.split,
            alpha=self.alpha if self.criterion == "alpha" else None,
            at_least=self.at_least if self.criterion == "every-prior" else None,
        )

    @property
    def factor(self) -> str:
        """How many times as likely a value may become; empty where no number bounds each value.

        Examples
        --------
        >>> Setting(criterion="max-lift", epsilon=2).factor, Setting(criterion="l1").factor
        ('7.39', '')
        """
        if not self.criterion:
            return shortest(self.limit)
        with contextlib.suppress(InvalidInput):  # the answer says what is wrong with the budgets
            upper = ends_of(self.bound()).upper
            return at_most(upper) if upper < _MOST_NATS else ""
        return ""

    @property
    def promise(self) -> str:
        """The bound in a few words.

        Examples
        --------
        >>> Setting(limit=1.5).promise, Setting(criterion="l1", epsilon=1).promise
        ('at most 1.5 times as likely', 'ℓ1-lift with 1 nat')
        """
        if self.factor:
            return f"at most {self.factor} times as likely"
        nats = f"{shortest(self.epsilon)} nat{'' if self.epsilon == 1 else 's'}"
        return f"{name_of(CRITERIA[self.criterion])} with {nats}"


def shortest(value: float) -> str:
    """Return the shortest text that is read back as the same number.

    Examples
    --------
    >>> shortest(2.0), shortest(1.2345674), shortest(1e9)
    ('2', '1.2345674', '1000000000')
    """
    text = f"{value:.15g}"
    return text if float(text) == value else repr(value)


def pinned_of(query: Iterable[tuple[str, str]]) -> list[Setting]:
    """Return the settings to compare, the one being worked on first."""
    texts = dict.fromkeys(value for name, value in query if name == "setting")
    return [
        Setting.of(parse_qsl(text, keep_blank_values=True)) for text in list(texts)[:MOST_PINNED]
    ]
