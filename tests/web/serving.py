"""``lowlift web`` as a user starts it, and tables to give it."""

import contextlib
import csv
import html
import json
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import httpx

#: Values of tables that must stay in them.
MARKERS = ("MARKERill", "MARKERa")
#: Seconds that something may take that takes parts of one; the first search compiles.
PATIENCE = 240.0
#: Waits of a server that tests need not sit through.
SHORT = {
    "wrong_password_seconds": 0.05,
    "guesses_per_second": 1000,
    "tab_seconds": 2.0,
    "sweep_seconds": 0.1,
}


class Server:
    """``lowlift web`` in a process of its own.

    Parameters
    ----------
    folder
        Its password file goes there. Its temporary files have a folder with a short path: sockets
        are in it.
    arguments
        Of the command.
    limits
        By their names; None for those of the command.
    environment
        Further variables.
    has_password
        Whether it asks for a password, so that every test can have its own session, or says a
        link that works once.
    """

    def __init__(self, folder, *arguments, limits=SHORT, has_password=True, **environment):
        short = "/tmp" if len(tempfile.gettempdir()) > 40 else None
        self.temporary = Path(tempfile.mkdtemp(prefix="ll-", dir=short))
        self.password = secrets.token_urlsafe(12)
        script = ["-m", "lowlift._cli", "web"]
        if limits is not None:
            script = [str(Path(__file__).with_name("limited.py")), json.dumps(limits)]
        command = [sys.executable, *script, "--no-browser", *arguments]
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
            env=os.environ | {"TMPDIR": str(self.temporary)} | environment,
        )
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if "Ctrl+C" in line:
                break
        found = re.search(r"(https?://[^/\s]+)(/open\S*)?", self.output)
        assert found, self.output
        self.url, self.link = found[1], found[0]
        # What is said later (errors) must not fill the pipe.
        self._reader = threading.Thread(
            target=lambda: self.lines.extend(self.process.stdout), daemon=True
        )
        self._reader.start()

    @property
    def output(self):
        """All that it said."""
        return "".join(self.lines)

    def files(self):
        """Return its temporary files, no links; some may be gone when they are looked at."""
        # Unlike rglob, walk does not mind a folder that goes away meanwhile.
        walked = os.walk(self.temporary)
        found = (Path(folder) / name for folder, _, names in walked for name in names)
        # No sockets, and not the link through which a job reads an upload.
        return sorted(path for path in found if path.is_file() and not path.is_symlink())

    def visitor(self, **options):
        """Return a client that is not let in."""
        options = {"base_url": self.url, "headers": {"Origin": self.url}, "timeout": 120} | options
        return httpx.Client(**options)

    @contextlib.contextmanager
    def client(self, **options):
        """Give a client that is let in by the password."""
        with self.visitor(**options) as client:
            answer = self.log_in(client, self.password)
            assert answer.status_code == 303
            yield client

    def log_in(self, client, password):
        """Send a password as the page's form does."""
        token = token_of(client.get("/login").text)
        return client.post("/login", data={"token": token, "password": password})

    def stop(self, number=signal.SIGTERM):
        """End it, as Ctrl+C or a system's shutdown does."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30)
        self._reader.join(10)
        self.process.stdout.close()
        self.left = sorted(path.name for path in self.temporary.rglob("*"))
        shutil.rmtree(self.temporary, ignore_errors=True)


def token_of(page):
    """Return the token of a page's forms."""
    return re.search(r'name="token" value="([^"]+)"', page)[1]


def upload(client, name, content):
    """Upload a file as the page's form does."""
    token = token_of(client.get("/").text)
    return client.post("/upload", data={"token": token}, files={"file": (name, content)})


def form_of(page):
    """Return the hidden fields of the form that publishes: the token, and what was shown."""
    shown = {name: re.search(f'name="{name}" value="([^"]*)"', page) for name in ("shown", "cards")}
    fields = {name: html.unescape(found[1]) if found else "" for name, found in shown.items()}
    return {"token": token_of(page)} | fields


def problem_of(page):
    """Return what a page says is wrong, or nothing."""
    found = re.search(r'class="[^"]*\bproblem\b[^>]*>(.*?)</(?:section|p|span)>', page, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", "", found[1])).strip() if found else ""


def until(condition, seconds=PATIENCE):
    """Wait for something to become true, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, condition
        time.sleep(0.05)
    return found


def settled(client, address, **options):
    """Return a page once no work goes on in it."""
    end = time.monotonic() + PATIENCE
    while "data-events" in (page := client.get(address, **options).text):
        assert time.monotonic() < end, page
    return page


def until_page(client, address, words, **options):
    """Return a page once it says something."""
    end = time.monotonic() + PATIENCE
    while words not in (page := client.get(address, **options).text):
        assert "data-events" in page, page
        assert time.monotonic() < end, page
    return page


def titanic(client):
    """Add the demonstration, and return its address."""
    token = token_of(client.get("/").text)
    return client.post("/demo", data={"token": token}).headers["location"]


def post(client, query, **fields):
    """Send the form; return the page that it leads to, and its address."""
    wished = {name: fields[name] for name in ("to", "form", "keep") if name in fields}
    page = settled(client, f"/publish?{query}&{urlencode(wished, doseq=True)}")
    data = form_of(page) | {"setting": query} | fields
    answer = client.post("/publish", data=data)
    where = answer.headers.get("location", "")
    return (settled(client, where) if where else answer.text), where


def clinic(rows=600, seed=5):
    """Return a small table as the text of a CSV file; some values are `MARKERS`."""
    draw = random.Random(seed)
    lines = ["zip,age,disease"]
    for _ in range(rows):
        disease = draw.choice(["flu", "flu", "none", "none", "none", "MARKERill"])
        place = draw.choice(["MARKERa", "b", "c"] if disease == "flu" else ["b", "c", "d", "e"])
        lines.append(f"{place},{draw.randint(18, 90)},{disease}")
    return "\n".join(lines) + "\n"


def wide(path, n_x=200, n_s=15, rows=40_000, seed=3):
    """Write a table of 200 values by 15; with more of both, a search takes long."""
    draw = random.Random(seed)
    weights = [[draw.expovariate(1.0) + 0.05 for _ in range(n_s)] for _ in range(n_x)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "s"])
        for _ in range(rows):
            x = draw.randrange(n_x)
            writer.writerow([f"x{x:03}", f"s{draw.choices(range(n_s), weights[x])[0]:02}"])
    return path


def register(rows=400, n_more=45, seed=7):
    """Return a table of 53 columns as the text of a CSV file: names, dates, empty cells, and S.

    `ward` is constant, `code` is `disease` in other words; `patient`, `name`, `mail` name people.
    """
    draw = random.Random(seed)
    more = [f"item{k}" for k in range(n_more)]
    lines = ["patient,name,mail,born,ward,age,code,disease," + ",".join(more)]
    for row in range(rows):
        disease = draw.choice(["flu", "none", "none", "cold"])
        born = f"{draw.randint(1930, 2005)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        name = f"N{row} {draw.choice(['Ada', 'Bo', 'Cy'])}"
        age = "" if draw.random() < 0.2 else str(draw.randint(18, 90))
        kind = draw.randint(0, 3)  # which most items agree with: rows can be near to each other
        own = (kind if draw.random() < 0.8 else draw.randint(0, 3) for _ in more)
        cells = ["" if draw.random() < 0.4 else str(value) for value in own]
        mail = f"m{row}@example.org"
        lines.append(
            ",".join([str(9000 + row), name, mail, born, "A", age, disease[0], disease, *cells])
        )
    return "\n".join(lines) + "\n"
