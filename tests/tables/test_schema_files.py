"""Release, codebook and receipt of a table in each engine fit their JSON Schemas."""

import json

import lowlift as ll
from json_schema import faults
from lowlift import schemas
from lowlift.workflow import Asked, sanitize


def test_files_of_every_engine_fit(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the files of a database's table go here
    rows = 240
    source = store.put(
        {
            "sick": ("boolean", [k % 3 == 0 for k in range(rows)]),
            "age": ("integer", [k % 50 for k in range(rows)]),
            "born": ("date", [f"2024-0{1 + k % 3}-0{1 + k % 7}" for k in range(rows)]),
        }
    )
    sanitize(
        source,
        Asked(("sick",), ("age", "born"), {"age": "width:25", "born": "month"}),
        ll.LIP(0.5),
        store.target(),
        mechanism="subset-merging",
        engine=store.engine,
    )
    for name in schemas.SCHEMAS:
        (file,) = tmp_path.glob(f"*.{name}.json")
        content = json.loads(file.read_text("utf-8"))
        assert list(faults(content, schemas.load(name))) == []
