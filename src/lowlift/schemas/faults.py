"""Find where plain data does not fit a schema: the part of JSON Schema that lowlift's use."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "object": ((dict,), "a mapping"),
    "array": ((list, tuple), "a list"),
    "string": ((str,), "a text"),
    "boolean": ((bool,), "true or false"),
    "null": ((type(None),), "null"),
    "number": ((int, float), "a number"),
    "integer": ((int,), "a whole number"),
}
#: Keywords that check nothing, or that the check of properties reads: no other keys are allowed.
_NOTES = {"$schema", "$id", "$defs", "title", "description", "required", "additionalProperties"}


class Fault(NamedTuple):
    """The first place that does not fit: what must hold there, and what is there; no value."""

    place: tuple[str | int, ...]
    rule: str
    found: str
    #: Whether a constant differs, by which variants of a mapping are told apart.
    is_constant: bool = False

    def inside(self, key: str | int) -> "Fault":
        """Return the fault as seen from the mapping or the list around it."""
        return self._replace(place=(key, *self.place))

    def __str__(self) -> str:
        steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.place)
        return f"{''.join(steps).removeprefix('.') or 'it'} must {self.rule}; {self.found}."


Check = Callable[[Any], Fault | None]
Checks = dict[str, Check]


def checks_of(schema: Mapping[str, Any]) -> Checks:
    """Return the checks of a schema's definitions by name, and of the schema itself by ""."""
    checks: Checks = {}
    checks |= {name: _check(part, checks) for name, part in schema.get("$defs", {}).items()}
    return checks | {"": _check(schema, checks)}


def _check(schema: Mapping[str, Any], known: Checks) -> Check:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return lambda value: known[name](value)  # noqa: PLW0108 (it may refer to itself)
    # A keyword that is not known here must not be passed over: looking it up fails.
    checks = [_KEYWORDS[key](schema, known) for key in schema if key not in _NOTES]

    def check(value: Any) -> Fault | None:
        for each in checks:
            fault = each(value)
            if fault is not None:
                return fault
        return None

    return checks[0] if len(checks) == 1 else check


def _type(schema: Mapping[str, Any], _: Checks) -> Check:
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    rule = f"be {' or '.join(_KINDS[name][1] for name in names)}"
    faults: dict[type, Fault | None] = {
        kind: Fault((), rule, f"it is {word}") for kinds, word in _KINDS.values() for kind in kinds
    }
    faults |= {kind: None for name in names for kind in _KINDS[name][0]}
    other = Fault((), rule, "it is nothing that JSON has")
    return lambda value: faults.get(type(value), other)


def _choice(schema: Mapping[str, Any], _: Checks) -> Check:
    choices = schema["enum"] if "enum" in schema else [schema["const"]]
    allowed = {(type(choice), choice) for choice in choices}  # true is not 1
    rule = f"be {' or '.join(map(repr, choices))}"

    def check(value: Any) -> Fault | None:
        if isinstance(value, str | int | None) and (type(value), value) in allowed:
            return None
        return Fault((), rule, "it is not", is_constant="const" in schema)

    return check


def _any_of(schema: Mapping[str, Any], known: Checks) -> Check:
    checks = [_check(part, known) for part in schema["anyOf"]]

    def check(value: Any) -> Fault | None:
        faults = []
        for each in checks:
            fault = each(value)
            if fault is None:
                return None
            faults.append(fault)
        # The variant that is meant has the right constants, and fits further than the others.
        rank = {fault: (not fault.is_constant, len(fault.place)) for fault in faults}
        best = max(faults, key=rank.__getitem__)
        same = [f.rule for f in faults if (f.place, rank[f]) == (best.place, rank[best])]
        return best._replace(rule=" or ".join(dict.fromkeys(same)))

    return check


def _properties(schema: Mapping[str, Any], known: Checks) -> Check:
    """Check the keys of a mapping; its constants first, since they tell which variant it is."""
    parts = {key: _check(part, known) for key, part in schema["properties"].items()}
    constants = [key for key, part in schema["properties"].items() if "const" in part]
    needed = schema["required"]

    def inside(value: dict[str, Any], keys: Iterable[str]) -> Fault | None:
        for key in keys:
            fault = parts[key](value[key]) if key in value else None
            if fault is not None:
                return fault.inside(key)
        return None

    def keys(value: dict[str, Any]) -> Fault | None:
        lacking = next((key for key in needed if key not in value), None)
        if lacking is not None:
            return Fault((), f"have {lacking!r}", "it has not")
        other = next((key for key in value if key not in parts), None)
        if other is None:
            return None
        rule = "have no keys but those that lowlift writes"
        return Fault((), rule, f"it has {other!r}. Remove it, or read it with the lowlift it is of")

    def check(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return None
        return inside(value, constants) or keys(value) or inside(value, parts)

    return check


def _items(schema: Mapping[str, Any], known: Checks) -> Check:
    part = _check(schema["items"], known)

    def check(value: Any) -> Fault | None:
        if isinstance(value, list | tuple):
            for place, item in enumerate(value):
                fault = part(item)
                if fault is not None:
                    return fault.inside(place)
        return None

    return check


def _limit(key: str, kinds: Any, words: str, fits: Callable[[Any, Any], bool]) -> Any:
    def make(schema: Mapping[str, Any], _: Checks) -> Check:
        limit = schema[key]
        found = "it is not" if words.startswith("be") else "it does not"
        fault = Fault((), f"{words} {limit}", found)
        return lambda value: fault if isinstance(value, kinds) and not fits(value, limit) else None

    return make


_NUMBER, _LIST = (int, float), (list, tuple)
_KEYWORDS: Mapping[str, Callable[[Mapping[str, Any], Checks], Check]] = {
    "type": _type,
    "const": _choice,
    "enum": _choice,
    "anyOf": _any_of,
    "properties": _properties,
    "items": _items,
    "minItems": _limit(
        "minItems", _LIST, "have at least this many items:", lambda v, n: len(v) >= n
    ),
    "maxItems": _limit(
        "maxItems", _LIST, "have at most this many items:", lambda v, n: len(v) <= n
    ),
    "minimum": _limit("minimum", _NUMBER, "be at least", lambda v, n: bool(v >= n)),
    "maximum": _limit("maximum", _NUMBER, "be at most", lambda v, n: bool(v <= n)),
    "exclusiveMinimum": _limit("exclusiveMinimum", _NUMBER, "be above", lambda v, n: bool(v > n)),
    "pattern": _limit("pattern", str, "match", lambda v, p: bool(re.fullmatch(p, v, re.ASCII))),
}
