"""Run the benchmarks, gather them, and write the tables.

Usage: run.py [--form quick|full|tiny] [--out FOLDER] [--publish] [--engines] [-k WORDS]
       run.py --render     (write the documents from the stored results)
       run.py --check      (fail if the documents are not what the stored results give)

A run writes FOLDER/results.json, benchmarks.md and the plots, and prints the page. With
--publish it also stores the results (benchmarks/results.json) and writes the documents:
docs/benchmarks.md, docs/growth*.svg and the README's block. With -k either goals can be published
(-k bench_targets, -k bench_rows: each has its own date and load) or all contests without the goals
(-k "not bench_targets and not bench_rows"). --engines adds PostgreSQL
(LOWLIFT_POSTGRES=postgresql://host/db), Spark and 100 million rows through DuckDB.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import machine
import pages
import plots
import reasons
import results as records
import rows_targets
import targets

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED = HERE / "results.json"


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the benchmark files and return the record."""
    options.out.mkdir(parents=True, exist_ok=True)
    raw = options.out / "pytest-benchmark.json"
    raw.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(HERE / "pytest.ini"),
        str(HERE),
        "-q",
        "-rs",
    ]
    command += ["--rootdir", str(HERE), "--form", options.form, "--rivals", str(options.rivals)]
    command += ["--benchmark-json", str(raw), "--benchmark-quiet", "-W", "ignore"]
    if not options.engines:
        command += ["-m", "not engines"]
    if options.only:
        command += ["-k", options.only]
    before = machine.load()
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False, env=environment)
    print(done.stdout, file=sys.stderr)
    if done.returncode or not raw.exists():
        sys.exit("The benchmarks failed; what failed is above.")
    contests, growth, reached, rows = records.gather(raw)
    return {
        "format": records.FORMAT,
        "version": records.VERSION,
        "form": options.form,
        "date": machine.today(),
        "machine": machine.facts(),
        "load": {"before": before, "after": machine.load()},
        "versions": machine.versions() | machine.rival_versions(options.rivals),
        "contests": contests,
        "growth": growth,
        "targets": reached,
        "rows": rows,
        "not_run": skipped(done.stdout),
    }


def jobs(results: dict[str, Any]) -> set[tuple[str, ...]]:
    """Return the names of all contests and curves."""
    contests = {(one["group"], one["name"], one["data"]) for one in results["contests"]}
    return contests | {(one["plot"], one["curve"], str(one["size"])) for one in results["growth"]}


#: What has a date and a load of its own, and what is asked for of it.
ALONE = {"targets": targets.FULL, "rows": rows_targets.FULL + rows_targets.ENGINES}


def with_targets(stored: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the stored record with what a new run measured of the targets, or of rows.

    Those that are no longer asked for are left out. Of a run that has every contest and curve of
    the stored one, all is taken; the goals that it did not run stay. Any other run is refused.
    """
    if new["machine"] != stored["machine"]:
        sys.exit("Targets must be run on the machine of the record; run all of it anew.")
    if new["form"] == stored["form"] and jobs(new) >= jobs(stored):
        return new | {part: new[part] or stored[part] for part in ALONE}
    has_others = new["contests"] or new["growth"] or new["form"] != stored["form"]
    if has_others or not any(new[part] for part in ALONE):
        sys.exit("With -k, only a full run of targets or of all contests can be published.")
    made = dict(stored)
    for part, asked in ALONE.items():
        found = {target["id"]: target for target in (*stored[part], *new[part])}
        made[part] = [found[str(target)] for target in asked if str(target) in found]
    return made


def skipped(output: str) -> list[str]:
    """Return the reasons of skipped benchmarks, as pytest's summary has them."""
    lines = [line for line in output.splitlines() if line.startswith("SKIPPED")]
    reasons = [line.split(": ", 1)[-1] for line in lines]
    return [reason for reason in reasons if "empty parameter set" not in reason]


def written(results: dict[str, Any], folder: Path) -> None:
    """Write the page and the plots into a folder."""
    drawn = plots.draw(results["growth"])
    for name, (_, svg) in drawn.items():
        (folder / name).write_text(svg, "utf-8")
    titles = {name: title for name, (title, _) in drawn.items()}
    (folder / "benchmarks.md").write_text(pages.page(results, titles), "utf-8")


def publish(results: dict[str, Any]) -> None:
    """Write the documents and the README's block; refuse a ratio below 1 without a reason."""
    if missing := reasons.unexplained(results, pages.UNLIKE):
        sys.exit(f"benchmarks/reasons.py must say why these are faster: {'; '.join(missing)}.")
    written(results, ROOT / "docs")
    readme = ROOT / "README.md"
    made = pages.with_block(readme.read_text("utf-8"), pages.block(results))
    readme.write_text(made, "utf-8")


def differing(results: dict[str, Any]) -> list[str]:
    """Return the files that are not what the results give."""
    drawn = plots.draw(results["growth"])
    titles = {name: title for name, (title, _) in drawn.items()}
    expected = {ROOT / "docs" / "benchmarks.md": pages.page(results, titles)}
    expected |= {ROOT / "docs" / name: svg for name, (_, svg) in drawn.items()}
    readme = ROOT / "README.md"
    expected[readme] = pages.with_block(readme.read_text("utf-8"), pages.block(results))
    return [
        str(path.relative_to(ROOT))
        for path, text in expected.items()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--form", choices=("tiny", "quick", "full"), default="quick")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--rivals", type=Path, default=ROOT / "build" / "rivals" / "bin" / "python")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--engines", action="store_true")
    parser.add_argument("-k", dest="only", default="")
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Do what is asked."""
    options = parsed()
    if options.render:
        publish(records.read(STORED))
        return
    if options.check:
        if wrong := differing(records.read(STORED)):
            sys.exit(f"Not what benchmarks/results.json gives: {', '.join(wrong)}. Use --render.")
        return
    results = measure(options)
    if wrong := records.faults(results):
        sys.exit("The record is incomplete: " + "; ".join(wrong))
    records.write(results, options.out / "results.json")
    written(results, options.out)
    if options.publish:
        if options.only:
            results = with_targets(records.read(STORED), results)
        records.write(results, STORED)
        publish(results)
        print(pages.block(results))
    else:
        print((options.out / "benchmarks.md").read_text("utf-8"))


if __name__ == "__main__":
    main()
