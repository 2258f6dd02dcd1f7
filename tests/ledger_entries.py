"""Entries of a ledger for its tests."""

from lowlift._ledger import Entry


def entry(**more):
    given = {
        "source": "people.csv",
        "source_sha256": "ab" * 32,
        "people": None,
        "id_column": None,
        "sensitive": ("disease",),
        "released": ("ward", "age"),
        "kept": (),
        "release": "cd" * 32,
        "release_file": "/data/safe.release.json",
        "encoding": "codes",
        "criterion": "LIP(epsilon=0.5)",
        "draws": "fresh",
        "draw_sha256": None,
        "refines": None,
        "recipient": "everybody",
        "output": "safe.csv",
        "output_sha256": "ef" * 32,
        "receipt_file": None,
        "rows": 7,
        "is_unaudited": False,
        "lowlift": "0",
    }
    return Entry(**given | more)
