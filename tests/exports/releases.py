"""Releases of every kind of column, bins, encoding and missing rule, and records for them."""

import math
import uuid
from dataclasses import replace
from datetime import date, datetime

import numpy as np
from hypothesis import strategies as st

import lowlift as ll
from exports.runtimes import number
from lowlift.tables import Calendar, Column, DateEdges, Days, Each, Edges, Origin, Width
from lowlift.tables.layouts import Layout, Refines
from lowlift.tables.values import symbol_reader

NUMBERS = st.one_of(
    st.integers(-50, 50),
    st.sampled_from([0.1, 0.25, 0.3, 2.5, 1e-3, 1e6, -7.25, 2**62, -(2**62)]),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
)
NUMERIC_BINS = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=5, unique=True).map(lambda e: Edges(tuple(sorted(e)))),
    NUMBERS.filter(lambda w: 1e-4 < w < 2**53).map(Width),
)
DATE_BINS = st.one_of(
    st.sampled_from(["day", "month", "quarter", "year"]).map(Calendar),
    st.integers(1, 4000).map(Days),
    st.lists(st.dates(), min_size=1, max_size=5, unique=True).map(
        lambda e: DateEdges(tuple(sorted(e)))
    ),
)
TEXT = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        ["__proto__", "constructor", "</script>", "'\"`\\", "\u2028", "😀", "{}", "a,b"]
    ),
)
NEAR = st.one_of(st.integers(-200, 200), st.integers(-(2**63), 2**63 - 1))
WHOLE = st.one_of(NEAR, st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, -(2**127), 2**128 - 1]))
REAL = st.one_of(
    st.floats(),
    st.integers(-300, 300).map(lambda k: k / 20),
    st.integers(-(2**70), 2**70),
    st.sampled_from([-0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1 + 0.2]),
)
#: Kind, bins and values of a column.
FORMS = st.one_of(
    st.tuples(st.just("text"), st.none(), st.just(TEXT)),
    st.tuples(st.just("boolean"), st.none(), st.just(st.booleans())),
    st.tuples(st.just("integer"), NUMERIC_BINS, st.just(WHOLE)),
    st.tuples(st.just("integer"), st.just(Each()), st.just(NEAR)),
    st.tuples(st.just("real"), NUMERIC_BINS, st.just(REAL)),
    st.tuples(st.just("date"), st.one_of(DATE_BINS, st.none()), st.just(st.dates())),
    st.tuples(st.just("timestamp"), DATE_BINS, st.just(st.datetimes())),
    st.tuples(st.just("uuid"), st.none(), st.just(st.uuids())),
)
NAMES = st.one_of(st.text(min_size=1, max_size=6), TEXT.filter(bool))


@st.composite
def releases(draw):
    """Draw a release and records (in JSON, tagged) most of which it knows."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold))
    forms = [draw(FORMS) for _ in names]
    columns = [Column(name, *form[:2]) for name, form in zip(names, forms, strict=True)]
    missing = draw(st.sampled_from(["value", "drop", "error"]))
    of = [st.one_of(form[2], st.none()) if missing == "value" else form[2] for form in forms]
    rows = draw(st.lists(st.tuples(*of), min_size=1, max_size=12))
    seed = draw(st.integers(0, 2**32))
    release = release_of(columns, rows, missing, seed)
    if draw(st.booleans()):
        release = refined(release, np.random.default_rng(seed))
    more = draw(st.lists(st.tuples(*(st.one_of(form[2], st.none()) for form in forms)), max_size=4))
    records = [dict(zip(names, map(as_json, row), strict=True)) for row in rows + more]
    return release, records


def release_of(columns, rows, missing="value", seed=0, encoding=None, bits=None, **more):
    """Return a release whose symbols are those of these rows, by a channel of random weights."""
    rng = np.random.default_rng(seed)
    readers = [symbol_reader(column) for column in columns]
    texts = [[read(value) for read, value in zip(readers, row, strict=True)] for row in rows]
    if missing != "value":
        texts = [row for row in texts if None not in row] or [_other(texts[0], columns)]
    labels = [tuple(c.label_of(t) for c, t in zip(columns, row, strict=True)) for row in texts]
    x_labels = [row if len(columns) > 1 else row[0] for row in dict.fromkeys(labels)]
    joint = ll.Joint.from_counts(rng.integers(1, 9, (2, len(x_labels))), ["p", "q"], x_labels)
    encoding = encoding or rng.choice(["codes", "groups", "values"])
    bits = rng.choice([0, 1, 3, 20, 48]) if bits is None else bits
    channel = _channel(joint, encoding, int(bits), rng)
    made = ll.Release.of(joint, channel, ll.MaxLift(50.0))
    sensitive = (Column("\0s", "text"),)
    origin = Origin(sensitive, tuple(columns), missing, "t", 8, None, str(encoding), **more)
    return made.with_table(origin)


def refined(release, rng):
    """Return a release whose outputs cut those of another into two, at random."""
    first, atoms, parents = release.channel, [], []
    for y in range(first.n_y):
        members, weights = first.atom(y)
        taken = [int(rng.integers(0, weight + 1)) for weight in weights]
        for part in (taken, np.subtract(weights, taken).tolist()):
            kept = [(x, weight) for x, weight in zip(members, part, strict=True) if weight]
            if kept:
                atoms.append(tuple(map(list, zip(*kept, strict=True))))
                parents.append(y)
    channel = ll.Channel.from_atoms(release.joint, atoms, first.denominator)
    draws = Layout.of_alias(first, "scope of the first").cut(channel, parents)
    refines = Refines(release.fingerprint, first.y_labels, tuple(parents), (0.5,) * first.n_y)
    second = ll.Release.of(release.joint, channel, ll.MaxLift(50.0))
    origin = replace(release.origin, encoding="codes")
    return replace(second.with_table(origin), draws=draws, refines=refines)


def _other(row, columns):
    """Return a row without gaps: NaN may have left none."""
    return ["0" if text is None else text for text in row]


def _channel(joint, encoding, bits, rng):
    if encoding == "groups":
        blocks = rng.integers(0, 3, joint.n_x)
        return ll.Channel.from_blocks(
            joint, [np.flatnonzero(blocks == k).tolist() for k in np.unique(blocks)]
        )
    sizes = joint.n_x if encoding == "values" else int(rng.integers(1, 9))
    weights = np.zeros((joint.n_x, sizes), np.int64)
    for row in weights:
        cuts = np.sort(rng.integers(0, (1 << bits) + 1, int(rng.integers(0, sizes))))
        parts = np.diff([0, *cuts, 1 << bits])
        row[rng.permutation(sizes)[: len(parts)]] = parts
    used = np.flatnonzero(weights.sum(axis=0))
    labels = [joint.x_labels[y] for y in used] if encoding == "values" else None
    atoms = [
        (np.flatnonzero(weights[:, y]).tolist(), weights[weights[:, y] > 0, y].tolist())
        for y in used
    ]
    return ll.Channel.from_atoms(joint, atoms, 1 << bits, labels)


def as_json(value):
    """Return a value of Python as a record in JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date | uuid.UUID):
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return value
