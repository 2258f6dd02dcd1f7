"""The same as driver.mjs for an exported Python file; run by ``python -I -S``, without lowlift."""

import importlib.util
import json
import sys
from datetime import date
from uuid import UUID


def given(value):
    if isinstance(value, list):
        return [given(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "$" not in value:
        return {name: given(one) for name, one in value.items()}
    return {"bigint": int, "number": float, "octets": bytes.fromhex}[value["$"]](value["text"])


def shown(value):
    if type(value) is int and abs(value) >= 1 << 53:
        return {"$": "bigint", "text": str(value)}
    return str(value) if isinstance(value, date | UUID) else value


def answer(module, record, options):
    try:
        drawn = module.draw(given(record), **given(options))
    except module.InvalidInput as error:
        return {"$": "error", "text": str(error)}
    return drawn and {name: shown(value) for name, value in drawn.items()}


def many(module, start, count, key):
    """Return what is drawn for the people of these numbers, as text: a line each."""
    octets = bytes.fromhex(key)
    return "\n".join(
        json.dumps(
            module.draw({"age": k % 90, "region": "news"[k % 4]}, id=k, key=octets),
            separators=(",", ":"),
        )
        for k in range(start, start + count)
    )


def loaded(path):
    spec = importlib.util.spec_from_file_location("release", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "lowlift" not in sys.modules
    return module


def main():
    module = None
    for line in sys.stdin:
        asked = json.loads(line)
        if "load" in asked:
            module, found = loaded(asked["load"]), "loaded"
        elif "many" in asked:
            found = many(module, *asked["many"])
        else:
            found = [answer(module, *call) for call in asked["calls"]]
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
