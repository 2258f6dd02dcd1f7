"""The definition of rows drawn by a key (docs/format.md), in plain Python from a release's file."""

import hashlib
import hmac
import json
from datetime import date, datetime

KEY = bytes(range(32))


def reference(text, records, ids, key=KEY):
    """Return the published rows, in their order, of records given as lists of values."""
    made = sorted(drawn(text, records, ids, key), key=lambda one: one[0])
    return [tuple(records[row][k] for k, row in enumerate(donors)) for _, _, donors in made]


def drawn(text, records, ids, key=KEY):
    """Return for each record its order, its cell, and the row that each column is taken from."""
    saved = json.loads(text)
    cells = cells_in(saved)
    subkey = hmac.new(key, scope_of(saved, cells).encode(), hashlib.sha256).hexdigest()[:40]
    digests = [digest(subkey, "", identity) for identity in ids]
    own = [cell_of(cells, record) for record in records]
    members = {}
    for row in sorted(range(len(ids)), key=lambda row: (digests[row][30:45], ids[row].encode())):
        members.setdefault(own[row], []).append(row)
    made = []
    for row, found in enumerate(digests):
        cell, width = drawn_cell(saved, own[row], int(found[:15], 16)), len(records[row])
        inside = members[cell]
        if saved["table"]["encoding"] == "rows":
            donors = [inside[int(found[15:30], 16) * len(inside) >> 60]] * width
        else:
            more = [digest(subkey, f"{group},", ids[row]) for group in range(-(-width // 4))]
            numbers = [int(h[start : start + 15], 16) for h in more for start in (0, 15, 30, 45)]
            donors = [inside[number * len(inside) >> 60] for number in numbers[:width]]
        made.append((found[45:], cell, donors))
    return made


def in_vectors(part):
    """Return the columns of a table of the test vectors, and the rows that are published of it."""
    cells = cells_in(part["release"])
    kinds = {"ill": "text"} | dict(zip(cells["columns"], cells["kinds"], strict=True))
    table = {"id": ("text", [row["id"] for row in part["rows"]])}
    for name, kind in kinds.items():
        table[name] = kind, [typed(row["record"][name], kind) for row in part["rows"]]
    published = [
        tuple(typed(row[name], kinds[name]) for name in cells["columns"])
        for row in part["published"]
    ]
    return table, published


def cells_in(saved):
    (column,) = saved["table"]["released"]
    return column["bins"]


def scope_of(saved, cells):
    parts = {"x_labels": saved["joint"]["x_labels"]}
    parts |= {name: saved["channel"][name] for name in ("y_labels", "denominator", "atoms")}
    fingerprint = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
    return json.dumps([fingerprint, *cells["columns"], cells])


def digest(subkey, group, identity):
    octets = identity.encode()
    return hashlib.sha256(f"{subkey}{group}{len(octets)}:".encode() + octets).hexdigest()


def cell_of(cells, record):
    node = 0 if cells["splits"] else -1
    while node >= 0:
        split = cells["splits"][node]
        value, kind = record[split["column"]], cells["kinds"][split["column"]]
        if "in" in split:
            is_left = value in [typed(v, kind) for v in split["in"]]
        else:
            is_left = value is not None and value <= typed(split["most"], kind)
        node = split["left"] if is_left else split["right"]
    return -1 - node


def typed(value, kind):
    times = {"date": date, "timestamp": datetime}
    return times[kind].fromisoformat(value) if kind in times and value is not None else value


def drawn_cell(saved, cell, uniform):
    """Return the cell that a number of 60 bits draws, by the alias table."""
    channel, d = saved["channel"], saved["channel"]["denominator"].bit_length() - 1
    x = saved["joint"]["x_labels"].index(cell)
    atoms = [dict(zip(*atom, strict=True)) for atom in channel["atoms"]]
    most = max(sum(k in atom for atom in atoms) for k in range(len(saved["joint"]["x_labels"])))
    bits = (most - 1).bit_length()
    names = [y for y, atom in enumerate(atoms) if x in atom]
    held = [atoms[y][x] << bits for y in names] + [0] * ((1 << bits) - len(names))
    names += [names[0]] * ((1 << bits) - len(names))
    firsts, others, thresholds = names, list(names), [1 << d] * len(names)
    small = [k for k, mass in enumerate(held) if mass < 1 << d]
    large = [k for k, mass in enumerate(held) if mass > 1 << d]
    while small:
        slot, donor = small.pop(), large[-1]
        thresholds[slot], others[slot] = held[slot], names[donor]
        held[donor] -= (1 << d) - held[slot]
        if held[donor] <= 1 << d:
            large.pop()
            if held[donor] < 1 << d:
                small.append(donor)
    slot = uniform >> (60 - bits)
    place = (uniform >> (60 - bits - d)) & ((1 << d) - 1)
    y = firsts[slot] if place < thresholds[slot] else others[slot]
    return channel["y_labels"][y]
