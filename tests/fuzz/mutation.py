"""Files turned into odd ones: JSON by its tree, anything by its bytes.

Every choice comes from a `random.Random`, so that hypothesis and atheris can both drive it.
"""

import json
from copy import deepcopy

__all__ = ["changed_bytes", "changed_json"]


class Pairs(list):
    """A mapping as a list of [key, value], so that a key may stand twice."""


class Raw(str):
    """Text that is written as it is, JSON or not."""

    __slots__ = ()


#: In place of any value of a file.
ODD = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    1 << 48,
    (1 << 53) + 1,
    1 << 63,
    10**400,
    Raw("9" * 5000),
    Raw("-0"),
    0.5,
    -0.0,
    5e-324,
    1e-300,
    1e308,
    Raw("1e999"),
    Raw("NaN"),
    Raw("Infinity"),
    "",
    "inf",
    "nan",
    "\0",
    "a\0b",
    "\ud800",
    "\u202e",
    "x" * 5000,
    "groups",
    "values",
    "AlphaLift",
    "L1Lift",
    "codes",
    [],
    [[]],
    [0],
    [[0, 1], [1, 0]],
    Pairs(),
    Pairs([["name", "LIP"], ["epsilon", 0.0]]),
    Raw("[" * 50_000 + "]" * 50_000),
    Raw("[" * 900 + "]" * 900),
    Raw('{"a":' * 900 + "1" + "}" * 900),
)


def changed_json(data, random):
    """Return a JSON file with a few places of its tree changed; other bytes by their bytes."""
    try:
        tree = json.loads(data, object_pairs_hook=lambda pairs: Pairs(map(list, pairs)))
        return _changed_tree(tree, random)
    except (ValueError, OverflowError, RecursionError):
        return changed_bytes(data, random)


def changed_bytes(data, random):
    """Return the bytes with a few of them overwritten, removed, repeated or put elsewhere."""
    out = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(out))
        length = random.choice((1, 1, 2, 4, 16))
        what = random.randint(0, 3)
        if what == 0:
            out[at : at + length] = bytes(random.randint(0, 255) for _ in range(length))
        elif what == 1:
            del out[at : at + length]
        elif what == 2:
            start = random.randint(0, len(out))
            out[at:at] = out[start : start + 4 * length]
        else:
            out[at:at] = random.choice((b"\0", b'"', b"\n", b",", b"\xff", b"\xef\xbb\xbf", b"'"))
    return bytes(out)


def _changed_tree(tree, random):
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(tree, 6))
        if not places:
            tree = deepcopy(random.choice(ODD))
            break
        _change(*random.choice(places), places, random)
    return _text(tree).encode("utf-8", "surrogatepass")


def _places(node, depth):
    """Yield (container, position) of every value in the tree, down to a depth."""
    if not isinstance(node, list) or depth == 0:
        return
    for k, item in enumerate(node):
        if isinstance(node, Pairs):
            yield item, 1
            yield from _places(item[1], depth - 1)
        else:
            yield node, k
            yield from _places(item, depth - 1)


def _change(container, place, places, random):
    value = container[place]
    what = random.randint(0, 6)
    if what == 0 and isinstance(value, list) and value:
        del value[random.randrange(len(value))]
    elif what == 1 and isinstance(value, list) and value:
        value.append(deepcopy(random.choice(value)))
    elif what == 2 and isinstance(value, list) and len(value) > 1:
        random.shuffle(value)
    elif what == 3 and isinstance(value, Pairs) and value:
        random.choice(value)[0] = random.choice(("name", "counts", "p_sx", "format", "", "\0"))
    elif what == 4 and type(value) in {int, float}:
        container[place] = random.choice((value + 1, value - 1, value * 2, -value, value * 0.3))
    elif what == 5:
        other, at = random.choice(places)
        container[place] = deepcopy(other[at])
    else:
        container[place] = deepcopy(random.choice(ODD))


def _text(node):
    """Return the tree as JSON, raw parts as they are."""
    if isinstance(node, Raw):
        return str(node)
    if isinstance(node, Pairs):
        return "{" + ",".join(f"{_text(key)}:{_text(value)}" for key, value in node) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(_text, node)) + "]"
    return json.dumps(node)
