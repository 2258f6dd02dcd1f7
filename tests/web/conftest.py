"""A real server in a process of its own, and a real browser."""

import csv
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import needs

CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


class Server:
    """``lowlift web`` as a user starts it."""

    def __init__(self, folder, *arguments, has_password=True):
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.password = secrets.token_urlsafe(12)
        command = [sys.executable, "-m", "lowlift.cli", "web", "--no-browser", *arguments]
        if has_password:
            secret = folder / "password.txt"
            secret.write_text(self.password)
            command += ["--password-file", str(secret)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"TMPDIR": str(self.temporary)},
        )
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if "Ctrl+C" in line:
                break
        found = re.search(r"(https?://[^/\s]+)(/open\S*)?", "".join(self.lines))
        assert found, "".join(self.lines)
        self.url, self.link = found[1], found[0]
        # What is said later (errors) must not fill the pipe.
        threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True).start()

    def client(self):
        """Return a client that is let in."""
        client = httpx.Client(base_url=self.url, headers={"Origin": self.url}, timeout=60)
        page = client.get("/login").text
        answer = client.post("/login", data={"token": token_of(page), "password": self.password})
        assert answer.status_code == 303
        return client

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)


def token_of(page):
    """Return the token of a page's forms."""
    return re.search(r'name="token" value="([^"]+)"', page)[1]


def upload(client, name, content):
    """Upload a file as the page's form does."""
    token = token_of(client.get("/").text)
    return client.post("/upload", data={"token": token}, files={"file": (name, content)})


def clinic(rows=600, seed=5):
    """Return a small table as the text of a CSV file; the values have a marker."""
    draw = random.Random(seed)
    lines = ["zip,age,disease"]
    for _ in range(rows):
        disease = draw.choice(["flu", "flu", "none", "none", "none", "MARKERill"])
        place = draw.choice(["MARKERa", "b", "c"] if disease == "flu" else ["b", "c", "d", "e"])
        lines.append(f"{place},{draw.randint(18, 90)},{disease}")
    return "\n".join(lines) + "\n"


def wide(path, n_x=200, n_s=15, rows=40_000, seed=3):
    """Write a table of 200 values by 15."""
    draw = random.Random(seed)
    weights = [[draw.expovariate(1.0) + 0.05 for _ in range(n_s)] for _ in range(n_x)]
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "s"])
        for _ in range(rows):
            x = draw.randrange(n_x)
            writer.writerow([f"x{x:03}", f"s{draw.choices(range(n_s), weights[x])[0]:02}"])


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server with a password, so that every test can have its own session."""
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture
def client(server):
    with server.client() as found:
        yield found


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium, driven by Playwright."""
    path = needs.chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
        yield browser
        browser.close()
