"""Pictures of the running web app, taken by Chromium: ``scripts/pictures app``."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

_GUIDE = Path(__file__).resolve().parent.parent / "guide"
_SOURCE = Path(__file__).resolve().parent.parent.parent / "src"
#: Each picture: the step of the app, and what its address says beside the table.
STEPS = {
    "columns": "s=disease&x=age&x=region&x=smoker",
    "protection": "s=disease&x=age&x=region&x=smoker&limit=1.5",
}
THEMES = ("light", "dark")
_SECONDS = 90
_IDLE = """() => ![...document.querySelectorAll(
    '[aria-busy="true"], progress, [data-events], .placeholder')].some(
    (element) => element.checkVisibility())"""
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Run ``lowlift web`` on the patients of the guide; yield the link that it prints."""
    with chdir(folder):
        runpy.run_path(str(_GUIDE / "patients.py"), run_name="__main__")
    shell = os.environ | {"BROWSER": "true", "LOWLIFT_LEDGER": "off"}
    shell["PYTHONPATH"] = os.environ.get("PYTHONPATH", str(_SOURCE))
    server = subprocess.Popen(
        [sys.executable, "-m", "lowlift", "web", "patients.csv"],
        cwd=folder,
        env=shell,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    late = threading.Timer(_SECONDS, server.kill)
    late.start()
    try:
        said = ""
        for line in server.stdout or ():
            said += line
            if found := re.search(r"https?://\S+", said):
                yield found[0].rstrip(".")
                return
        raise RuntimeError(f"lowlift web said no address: {said}")
    finally:
        late.cancel()
        server.kill()
        server.wait(30)


def _key(page: Any) -> str:
    """Return the id of the table, once a page has it in a link or a field."""
    known = page.locator('a[href*="table="], input[name="table"]').first
    known.wait_for(state="attached", timeout=1000 * _SECONDS)
    value = known.get_attribute("value") or known.get_attribute("href")
    return re.sub(r".*table=([\w-]+).*", r"\1", value)


def take(folder: Path) -> list[Path]:
    """Write a picture per step and theme into a folder."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    made = []
    with (
        tempfile.TemporaryDirectory() as work,
        _served(Path(work)) as link,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=chromium, args=_FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        page = context.new_page()
        page.goto(link)
        root = re.match(r"https?://[^/]+", link)
        key = _key(page)
        for step, setting in STEPS.items():
            page.goto(f"{root[0] if root else ''}/{step}?table={key}&{setting}")
            answer = page.locator('#answer[data-state="useful"]:not([aria-busy])')
            answer.wait_for(timeout=1000 * _SECONDS)
            # Rows and chart are asked for with the answer; nothing that is shown is being computed.
            page.wait_for_load_state()
            page.wait_for_timeout(2_000)
            page.wait_for_function(_IDLE, timeout=1000 * _SECONDS)
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                path = folder / f"app-{step}-{theme}.png"
                page.screenshot(path=str(path), animations="disabled")
                made.append(path)
        browser.close()
    return made
