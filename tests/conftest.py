"""How tests run: hypothesis's profiles, and in CI a test that is skipped is a failure.

Choose a profile by ``pytest --hypothesis-profile=long``. A test with its own number of examples
keeps it. Every release that a test makes is also judged by checker/check.py: a test after which it
and the audit disagree on one has failed.
"""

import functools
import os
import sys
from typing import NamedTuple

import pytest
from hypothesis import settings

import needs

# No test writes to the ledger of the person who runs it.
os.environ["LOWLIFT_LEDGER"] = "off"

settings.register_profile("fast", deadline=None, max_examples=25, print_blob=True)
settings.register_profile("long", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("fast")


def _fail_when_skipped(report):
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _fail_when_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _fail_when_skipped((yield))


#: Texts of releases that were made and not yet judged by the checker.
_MADE = []
#: Bytes above which a file that a command wrote is not read again.
_LARGEST = 1 << 22


@pytest.fixture(scope="session", autouse=True)
def _noted_releases():
    """Note the text of every release that this process writes."""
    from lowlift import Release

    written = Release.to_text

    @functools.wraps(written)
    def noted(release):
        text = written(release)
        _MADE.append(text)
        return text

    Release.to_text = noted
    yield
    Release.to_text = written


def pytest_collection_modifyitems(items):
    """Begin with the tests that may take longest, so that none of them runs alone at the end."""

    def seconds(item):
        mark = item.get_closest_marker("timeout")
        return mark.args[0] if mark is not None and mark.args else 0

    items.sort(key=seconds, reverse=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """Judge the releases made since the last test, here and by commands in its folder."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    result = yield
    files = [] if folder is None else [p for p in folder.rglob("*release*.json") if p.is_file()]
    if _MADE or files:
        from checker.agreement import disagreement

        made, _MADE[:] = list(_MADE), []
        found = {disagreement(text) for text in made}
        small = (path for path in files if path.stat().st_size < _LARGEST)
        found |= {disagreement(p.read_text("utf-8", "replace"), is_whole=False) for p in small}
        if found - {None}:
            pytest.fail("; ".join(sorted(found - {None})), pytrace=False)
    return result


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium, driven by Playwright: one for all, as a process has one driver."""
    path = needs.chromium()
    from playwright.sync_api import sync_playwright

    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--no-first-run"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def lowlift(monkeypatch, capsys, tmp_path):
    """Run a command in this process, in the test's folder."""
    from lowlift._cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["lowlift", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return Ran(left.value.code, *capsys.readouterr())

    return run
