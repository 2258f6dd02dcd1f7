"""A dbt project in a folder, run by the dbt of build/dbt."""

import json
import os
import subprocess
from pathlib import Path

import duckdb

import needs

PROJECT = """
name: warehouse
profile: warehouse
"""
PROFILES = """
warehouse:
  target: dev
  outputs:
    dev: {type: duckdb, path: warehouse.duckdb}
"""
#: dbt would tell its makers of each run.
SILENT = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
#: Settings of the environment of these tests, which dbt does not share.
OURS = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}


class Project:
    """A project whose tables are in one DuckDB file."""

    def __init__(self, folder):
        self.dbt = needs.dbt()
        self.folder = Path(folder)
        self.write("dbt_project.yml", PROJECT)
        self.write("profiles.yml", PROFILES)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, *words, **variables):
        """Run dbt as a person does; return its exit code and the status of each node."""
        kept = {name: value for name, value in os.environ.items() if name not in OURS}
        self.printed = subprocess.run(
            [self.dbt, *words],
            cwd=self.folder,
            env=kept | SILENT | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert self.printed.returncode in {0, 1}, self.printed.stdout  # 2: nothing was run
        return self.printed.returncode, {n: status for n, (status, _) in self.results().items()}

    def results(self):
        """Return what the last run says of each node: its status and message."""
        saved = json.loads((self.folder / "target" / "run_results.json").read_text("utf-8"))
        return {
            result["unique_id"].split(".")[2]: (result["status"], result["message"])
            for result in saved["results"]
        }

    def connect(self):
        return duckdb.connect(str(self.folder / "warehouse.duckdb"))

    def query(self, sql):
        with self.connect() as connection:
            return connection.execute(sql).fetchall()
