"""Benchmarks of the web app in a real browser: what a user waits for, with the limits we promise.

Usage: python benchmarks/web_app.py [--repeat N]    (needs Chromium and playwright)
The server is warm: its first start on a machine compiles for about half a minute.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
#: Milliseconds; the first answer of a server compiles.
PATIENCE = 120_000
#: Writes another limit, and gives the milliseconds until the page shows an answer to it: chosen, as
#: by a stop or a point of the chart, or typed, which waits until the typing pauses.
LIMIT = """([value, isTyped]) => new Promise((answered) => {
  const start = performance.now();
  const look = () => {
    const answer = document.getElementById("answer");
    const isOfIt = answer.innerText.includes(`more than ${value} times`);
    if (isOfIt && !answer.hasAttribute("aria-busy")) answered(performance.now() - start);
    else setTimeout(look, 5);
  };
  const field = document.getElementById("limit");
  field.value = value;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  if (!isTyped) field.dispatchEvent(new Event("change", {bubbles: true}));
  look();
})"""
#: The answer, and it is of the setting that is shown.
ANSWER = '#answer[data-state="useful"]:not([aria-busy])'
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


@contextmanager
def served(table: Path) -> Iterator[str]:
    """Run the server; give the link that opens it."""
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
            yield next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
        finally:
            process.terminate()


@contextmanager
def opened(browser: Browser, table: Path) -> Iterator[tuple[Page, str]]:
    """Give a page of a server of its own, its work warm, and the address of the table."""
    with served(table) as link:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(link)
        home = link.split("/open", maxsplit=1)[0]
        page.wait_for_url(f"{home}/")
        address = f"{home}/protection?table=given&s=s&x=x&limit=2&mechanism=subset-merging"
        page.goto(address)
        expect(page.locator(ANSWER)).to_be_visible()
        yield page, address
        page.close()


def told(what: str, seconds: list[float], limit: float) -> None:
    median, most = statistics.median(seconds), max(seconds)
    word = "" if most <= limit else " (over)"
    load = os.getloadavg()[0]
    row(what, f"{median:.3f} s", f"{most:.3f} s", f"{limit:g} s{word}", f"{load:.1f}")


def page_ready(page: Page, address: str, repeat: int) -> list[float]:
    found = []
    for _ in range(repeat):
        page.goto(address)
        found.append(page.evaluate(READY) / 1000)
    return found


def limits(page: Page, address: str, repeat: int) -> list[float]:
    """Choose limits that were never asked for."""
    return _limits(page, address, repeat, 2.1, is_typed=False)


def typed_limits(page: Page, address: str, repeat: int) -> list[float]:
    """Type limits that were never asked for."""
    return _limits(page, address, repeat, 2.15, is_typed=True)


def _limits(page: Page, address: str, repeat: int, least: float, *, is_typed: bool) -> list[float]:
    page.goto(address)
    found = []
    for step in range(repeat):
        value = f"{least + 0.1 * step:g}"  # as the page writes it
        found.append(page.evaluate(LIMIT, [value, is_typed]) / 1000)
        time.sleep(1.5)  # a hand rests before it moves on; rows and chart are drawn meanwhile
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    repeat: int = parser.parse_args().repeat
    expect.set_options(timeout=PATIENCE)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    row("what", "median", "max", "limit", "load average")
    row("---", "---", "---", "---", "---")
    measures: list[tuple[str, Callable[[Page, str, int], list[float]], int, float]] = [
        ("page ready, 200 x 15, its answer known", page_ready, repeat, 1.0),
        ("limit chosen to answer, subset merging, 200 x 15", limits, repeat, 0.3),
        ("limit typed to answer, subset merging, 200 x 15", typed_limits, repeat, 0.3),
    ]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        large, small = folder / "large.csv", folder / "small.csv"
        write_table(large, 200, 15)
        write_table(small, 50, 10)
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        with opened(browser, large) as (page, address):
            told("start page ready", page_ready(page, address.split("protection")[0], repeat), 1.0)
            for what, measure, times, limit in measures:
                told(what, measure(page, address, times), limit)
        found = []
        for _ in range(3):  # each in a session of its own, as a second draw must be asked for
            with opened(browser, small) as (page, address):
                found.append(publication(page, address))
        told("safe table and both reports, 50 x 10", found, 3.0)
        browser.close()
        told("lowlift report, 50 x 10, whole command", report_by_command(folder, small, 5), 3.0)


if __name__ == "__main__":
    main()
