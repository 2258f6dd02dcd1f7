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
#: Moves a slider, and gives the milliseconds until the verdict beside it is another one.
SLIDE = """([value]) => new Promise((answered) => {
  const slider = document.getElementById("epsilon");
  const before = document.getElementById("brief");
  const start = performance.now();
  new MutationObserver((_, observer) => {
    const line = document.getElementById("brief");
    if (!line || line === before || !line.textContent.includes("kept")) return;
    observer.disconnect();
    answered(performance.now() - start);
  }).observe(document.getElementById("choices"), {childList: true, subtree: true});
  slider.value = value;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
})"""
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
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
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
        address = f"{home}/look?table=given&s=s&x=x"
        page.goto(address)
        expect(page.get_by_role("heading", name="The trade-off")).to_be_visible()
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


def slider(page: Page, address: str, repeat: int) -> list[float]:
    """Move it to values that were never asked for."""
    page.goto(address)
    found = []
    for step in range(repeat):
        found.append(page.evaluate(SLIDE, [f"{0.3 + 0.05 * step:.2f}"]) / 1000)
        # A hand rests before it moves on; the pictures of this value are drawn meanwhile.
        expect(page.get_by_role("heading", name="Lift before and after")).to_be_visible()
        time.sleep(0.5)
    return found


def publication(page: Page, address: str, repeat: int) -> list[float]:
    """Write the safe table with both reports."""
    found = []
    for k in range(repeat):
        page.goto(f"{address}&epsilon={1 + k / 10}")  # the same is not drawn twice
        # The page moves while pictures come in: a click would miss.
        expect(page.get_by_role("heading", name="Lift before and after")).to_be_visible()
        expect(page.get_by_role("heading", name="The trade-off")).to_be_visible()
        again = page.get_by_label("Draw from this table once more")
        if again.count():
            again.check()
        start = time.perf_counter()
        page.get_by_role("button", name="Write the safe table").click()
        page.get_by_text("Written and verified").wait_for()
        found.append(time.perf_counter() - start)
    return found


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
        ("slider to verdict, subset merging, 200 x 15", slider, repeat, 0.3),
    ]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        large, small = folder / "large.csv", folder / "small.csv"
        write_table(large, 200, 15)
        write_table(small, 50, 10)
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        with opened(browser, large) as (page, address):
            told("start page ready", page_ready(page, address.split("look")[0], repeat), 1.0)
            for what, measure, times, limit in measures:
                told(what, measure(page, address, times), limit)
        with opened(browser, small) as (page, address):
            told("safe table and both reports, 50 x 10", publication(page, address, 5), 3.0)
        browser.close()
        told("lowlift report, 50 x 10, whole command", report_by_command(folder, small, 5), 3.0)


if __name__ == "__main__":
    main()
