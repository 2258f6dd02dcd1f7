"""How tests run: hypothesis's profiles, and in CI a test that is skipped is a failure.

Choose a profile by ``pytest --hypothesis-profile=long``. A test with its own number of examples
keeps it. Every release that a test writes is also judged by checker/check.py: a test after which it
and the audit disagree on one has failed.
"""

import functools
import gc
import os
import signal
import sys
from typing import NamedTuple

import pytest
from hypothesis import settings

import needs
from documentation import ROOT, run_page

# No test writes to the ledger of the person who runs it.
os.environ["LOWLIFT_LEDGER"] = "off"

# A shell that starts tests in the background has these ignored, and what tests start would inherit
# that: tests that stop a command by them would wait for its end.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

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


#: Groups that one process runs alone, for minutes, in the order in which they begin.
_LONG_GROUPS = ("full paper", "spark")


@pytest.hookimpl(trylast=True)  # groups are marked by then
def pytest_collection_modifyitems(items):
    """Begin with what may take longest, so that none of it runs alone at the end."""

    def order(item):
        group = item.get_closest_marker("xdist_group")
        name = group.args[0] if group is not None else None
        limit = item.get_closest_marker("timeout")
        seconds = limit.args[0] if limit is not None and limit.args else 0
        place = _LONG_GROUPS.index(name) if name in _LONG_GROUPS else len(_LONG_GROUPS)
        is_short = name is None and item.get_closest_marker("second_lane") is None
        return place, -seconds, is_short

    items.sort(key=order)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """Keep the collector from going through modules and thousands of tests again and again.

    They live as long as the session. What tests leave behind is collected as before.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config):
    """Let the interpreter's end find what was kept; DuckDB would report it as leaked."""
    gc.unfreeze()


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
        found |= {disagreement(p.read_text("utf-8", "replace"), is_whole=False) for p in files}
        if found - {None}:
            pytest.fail("; ".join(sorted(found - {None})), pytrace=False)
    return result


@pytest.fixture(scope="session")
def full_paper(tmp_path_factory):
    """The folder in which docs/paper.md was run: every figure at the paper's number of joints.

    That takes minutes on all processors: tests that read it are in the group "full paper".
    """
    folder = tmp_path_factory.mktemp("full-paper")
    run_page(ROOT / "docs" / "paper.md", "--folder", folder)
    return folder


#: What Chromium does not load: the pages of its address bar, half a second of work a window, and
#: what Playwright itself leaves out, as the last list counts.
_LEFT_OUT = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding",
    "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints",
    "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium, driven by Playwright: one for all, as a process has one driver."""
    path = needs.chromium()
    from playwright.sync_api import sync_playwright

    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--no-first-run"]
    flags += [f"--disable-features={','.join(_LEFT_OUT)}"]
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
