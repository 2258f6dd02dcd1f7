"""The part of JSON Schema 2020-12 that lowlift's schemas use; any other keyword is an error."""

import re

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: TYPES["number"](v) and v == int(v),
}
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}


def faults(value, schema, root=None, place="$"):
    """Yield where and why a value does not fit a schema."""
    root = root or schema
    for keyword, rule in schema.items():
        if keyword not in ANNOTATIONS:
            yield from KEYWORDS[keyword](value, rule, schema, root, place)


def same(value, other):
    """Equality of JSON: true is not 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _ref(value, rule, _, root, place):
    *_, name = rule.removeprefix("#/$defs/").split("/")
    assert rule == f"#/$defs/{name}"
    return faults(value, root["$defs"][name], root, place)


def _type(value, rule, _, __, place):
    names = [rule] if isinstance(rule, str) else rule
    if not any(TYPES[name](value) for name in names):
        yield f"{place}: must be {' or '.join(names)}"


def _const(value, rule, _, __, place):
    if not same(value, rule):
        yield f"{place}: must be {rule!r}"


def _enum(value, rule, _, __, place):
    if not any(same(value, choice) for choice in rule):
        yield f"{place}: must be one of {rule}"


def _any_of(value, rule, _, root, place):
    found = [list(faults(value, part, root, place)) for part in rule]
    if all(found):
        yield f"{place}: fits none of {len(rule)}: " + "; ".join(part[0] for part in found)


def _properties(value, rule, _, root, place):
    if isinstance(value, dict):
        for key in value.keys() & rule.keys():
            yield from faults(value[key], rule[key], root, f"{place}.{key}")


def _required(value, rule, _, __, place):
    if isinstance(value, dict):
        yield from (f"{place}: must have {key!r}" for key in rule if key not in value)


def _additional(value, rule, schema, _, place):
    assert rule is False
    if isinstance(value, dict):
        unknown = value.keys() - schema["properties"].keys()
        yield from (f"{place}: must not have {key!r}" for key in unknown)


def _items(value, rule, _, root, place):
    if isinstance(value, list):
        for k, part in enumerate(value):
            yield from faults(part, rule, root, f"{place}[{k}]")


def _bound(kind, fits, words):
    def check(value, rule, _, __, place):
        if TYPES[kind](value) and not fits(value, rule):
            yield f"{place}: must {words} {rule}"

    return check


KEYWORDS = {
    "$ref": _ref,
    "type": _type,
    "const": _const,
    "enum": _enum,
    "anyOf": _any_of,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "minItems": _bound("array", lambda v, rule: len(v) >= rule, "have at least"),
    "maxItems": _bound("array", lambda v, rule: len(v) <= rule, "have at most"),
    "minimum": _bound("number", lambda v, rule: v >= rule, "be at least"),
    "maximum": _bound("number", lambda v, rule: v <= rule, "be at most"),
    "exclusiveMinimum": _bound("number", lambda v, rule: v > rule, "be above"),
    "pattern": _bound("string", lambda v, rule: bool(re.search(rule, v)), "match"),
}
