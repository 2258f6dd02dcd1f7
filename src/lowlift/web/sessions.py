"""Sessions: the tables, the jobs and the private folder of each browser."""

import contextlib
import hmac
import secrets
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lowlift.errors import InvalidInput
from lowlift.web.jobs import Job
from lowlift.web.settings import Setting

_MOST_JOBS, _MOST_RUNNING, _MOST_SESSIONS = 48, 8, 32
#: States of jobs that wrote nothing.
_NOTHING_MADE = frozenset({"refused", "failed", "cancelled", "abandoned"})


@dataclass(frozen=True)
class SessionTable:
    """A table to choose: its name on the page, where it is, its engine, and its private folder.

    One that `is_demo` came with lowlift.
    """

    name: str
    source: Any
    engine: str | None = None
    folder: Path | None = None
    is_demo: bool = False

    @property
    def version(self) -> tuple[int, int]:
        """What changes when the file does; results of another version are not used."""
        with contextlib.suppress(OSError, TypeError, ValueError):
            state = Path(self.source).stat()
            return state.st_mtime_ns, state.st_size
        return 0, 0


@dataclass(eq=False)
class Session:
    """The tables and jobs of one browser."""

    folder: Path
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    tables: dict[str, SessionTable] = field(default_factory=dict)
    last_seen: float = field(default_factory=time.monotonic)
    #: The publications of each table, by its id and what was asked: kept as long as the table is.
    publications: dict[str, dict[Hashable, Job]] = field(default_factory=dict)
    #: The work of the whole server that searches wait for; None when they need not.
    compiling: Job | None = None
    #: The counts of S by X that answers were made of, by what they depend on.
    joints: dict[tuple[Setting, Any], Any] = field(default_factory=dict)
    #: The belief in the rarest value of S, by columns alone.
    rarest: dict[tuple[Setting, Any], Any] = field(default_factory=dict)
    #: Releases of earlier publications that were given back.
    earlier: list[Path] = field(default_factory=list)
    _jobs: OrderedDict[Hashable, Job] = field(default_factory=OrderedDict)
    _made: dict[str, list[Path]] = field(default_factory=dict)
    _n_tables: int = 0

    def table(self, key: str) -> SessionTable:
        """Return a table of this session, which must be there."""
        if key not in self.tables:
            raise InvalidInput("this table is not here any more. Choose or upload it again.")
        return self.tables[key]

    def new_folder(self) -> tuple[str, Path]:
        """Return a new id, and a new folder of that name."""
        self._n_tables += 1
        folder = self.folder / str(self._n_tables)
        folder.mkdir(mode=0o700)
        return str(self._n_tables), folder

    def new_folder_of(self, table: str) -> Path:
        """Return a new folder for what is made of a table."""
        _, folder = self.new_folder()
        self._made.setdefault(table, []).append(folder)
        return folder

    def remove(self, key: str) -> None:
        """Forget a table, with all that was made of it."""
        table = self.tables.pop(key, None)
        for name in [name for name in self._jobs if _is_about(name, key)]:
            self._jobs.pop(name).cancel()
        for known in (self.joints, self.rarest):
            for name in [name for name in known if name[0].table == key]:
                del known[name]
        for job in self.publications.pop(key, {}).values():
            job.cancel()
        folders = self._made.pop(key, [])
        if table is not None and table.folder is not None:
            folders.append(table.folder)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    def job(self, key: Hashable, function: Callable[..., Any], *arguments: Any) -> Job:
        """Return the job of this key, started unless it runs or is done; not when too many run."""
        found = self._jobs.get(key)
        if found is None or found.is_to_be_repeated:
            self._make_room()
            found = self._jobs[key] = Job(function, *arguments, folder=self.folder)
        self._jobs.move_to_end(key)
        found.last_seen = time.monotonic()
        return found

    def found(self, key: Hashable) -> Any:
        """Return the result of the job of this key; None when there is none."""
        job = self._jobs.get(key)
        return None if job is None else job.result

    def publish(
        self, table: str, key: Hashable, is_again: bool, work: Callable[[], tuple[Any, ...]]
    ) -> Job:
        """Return the job that publishes a table; its result stays until the table is removed.

        `key` is what is asked for: the same is not drawn twice. `is_again` allows to draw from the
        table once more. `work` returns the function of a new job and its arguments.

        Raises
        ------
        InvalidInput
            When the table was published otherwise, or too many jobs run.
        """
        made = self.publications.setdefault(table, {})
        for old in [name for name, job in made.items() if job.state in _NOTHING_MADE]:
            del made[old]
        if key not in made:
            if made and not is_again:
                raise InvalidInput(
                    "this table was published here already, and each publication is drawn anew: "
                    "whoever sees two learns more than the bound says. Publish that one, or tick "
                    "the box to draw again."
                )
            self._make_room()
            function, *arguments = work()
            made[key] = Job(function, *arguments, folder=self.folder)
        made[key].last_seen = time.monotonic()
        return made[key]

    def publication(self, table: str, key: Hashable) -> Job | None:
        """Return the publication that was asked for like this, unless it wrote nothing."""
        job = self.publications.get(table, {}).get(key)
        return None if job is None or job.state in _NOTHING_MADE else job

    @property
    def written(self) -> list[tuple[Setting, Job]]:
        """What was published, or is about to be: the settings and their jobs."""
        every = (item for made in self.publications.values() for item in made.items())
        return [
            (key[0], job)
            for key, job in every
            if isinstance(key, tuple) and isinstance(key[0], Setting)
            if job.state not in _NOTHING_MADE
        ]

    def setting_of(self, job: Job) -> Setting:
        """Return the setting that a job published; the start when that is not known any more."""
        every = (item for made in self.publications.values() for item in made.items())
        for key, found in every:  # one that wrote nothing leads back too
            if found is job and isinstance(key, tuple) and isinstance(key[0], Setting):
                return key[0]
        return Setting()

    def choice_of(self, job: Job) -> str:
        """Return what was chosen for the codebook of a publication."""
        every = (item for made in self.publications.values() for item in made.items())
        found = (key for key, one in every if one is job and isinstance(key, tuple))
        return next((str(key[4]) for key in found), "rounded")

    def n_published(self, table: str) -> int:
        """Return how many times a table was published here, or is about to be."""
        return len(self.drawn(table))

    def drawn(self, table: str) -> list[str | None]:
        """Return the digest of each table that was drawn from a table here; None until it is."""
        made = self.publications.get(table, {}).values()
        return [_digest_of(job) for job in made if job.state not in _NOTHING_MADE]

    @property
    def addresses(self) -> dict[str, str]:
        """Where each publication is shown, by the digest of what was drawn."""
        every = ((_digest_of(job), job.id) for _, job in self.written)
        return {digest: f"/published/{key}" for digest, key in every if digest is not None}

    @property
    def jobs(self) -> list[Job]:
        """All jobs, those that publish included."""
        published = (job for made in self.publications.values() for job in made.values())
        return [*self._jobs.values(), *published]

    def _make_room(self) -> None:
        """Forget the oldest results; cancel what nobody waits for if too much runs."""
        if sum(job.is_running for job in self.jobs) >= _MOST_RUNNING:
            _sweep(self._jobs.values(), 0.0)
        if sum(job.is_running for job in self.jobs) >= _MOST_RUNNING:
            raise InvalidInput(
                f"{_MOST_RUNNING} computations are running. Wait for one, or cancel it."
            )
        # What a table's columns are is asked for by every page, and is small.
        done = (key for key, job in self._jobs.items() if not job.is_running)
        old = [key for key in done if not (isinstance(key, tuple) and key[0] == "inspect")]
        for key in old[: max(0, len(self._jobs) - _MOST_JOBS + 1)]:
            del self._jobs[key]

    def by_id(self, identity: str) -> Job:
        """Return a job by its id, which must be there."""
        for job in self.jobs:
            if hmac.compare_digest(job.id.encode(), identity.encode()):
                return job
        raise InvalidInput("this work is not known any more. Start it again.")

    def sweep(self, grace: float) -> None:
        """Cancel the jobs that nobody has listened to for so many seconds: the tab was closed."""
        _sweep(self.jobs, grace)

    @property
    def is_busy(self) -> bool:
        """Whether a job runs."""
        return any(job.is_running for job in self.jobs)

    def close(self) -> None:
        """End all jobs and remove all files."""
        for job in self.jobs:
            job.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)


def _digest_of(job: Job) -> str | None:
    found: str | None = None if job.is_running else job.result.made.receipt.output_sha256
    return found


def _sweep(jobs: Iterable[Job], grace: float) -> None:
    now = time.monotonic()
    for job in jobs:
        if job.is_running and not job.listeners and now - job.last_seen > grace:
            job.cancel("abandoned")


def _is_about(key: Hashable, table: str) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return any(getattr(part, "table", part) == table for part in parts)


class Sessions:
    """All sessions of a server, by the value of their cookie."""

    def __init__(self, folder: Path, given: SessionTable | None) -> None:
        self._folder, self._given = folder, given
        self._sessions: dict[str, Session] = {}
        self._compiling: Job | None = None

    def compile(self, function: Callable[..., Any]) -> None:
        """Start the job that searches wait for."""
        self._compiling = Job(function, folder=self._folder)

    def start(self, before: str = "") -> str:
        """Return the cookie of a new session, in place of the one that a browser had before."""
        for key in [key for key, session in self._sessions.items() if session is self.find(before)]:
            self._sessions.pop(key).close()
        if len(self._sessions) >= _MOST_SESSIONS:
            idle = [key for key, session in self._sessions.items() if not session.is_busy]
            if not idle:
                raise InvalidInput(f"{_MOST_SESSIONS} browsers are at work. Try again later.")
            oldest = min(idle, key=lambda key: self._sessions[key].last_seen)
            self._sessions.pop(oldest).close()
        cookie, name = secrets.token_urlsafe(32), secrets.token_hex(8)
        folder = self._folder / name
        folder.mkdir(mode=0o700)
        session = self._sessions[cookie] = Session(folder)
        session.compiling = self._compiling
        if self._given is not None:
            session.tables["given"] = self._given
        return cookie

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie."""
        for key, session in self._sessions.items():
            if hmac.compare_digest(key.encode(), cookie.encode()):
                session.last_seen = time.monotonic()
                return session
        return None

    def sweep(self, grace: float) -> None:
        """Cancel the jobs of tabs that were closed so many seconds ago."""
        for session in self._sessions.values():
            session.sweep(grace)

    def close(self) -> None:
        """End all sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        if self._compiling is not None:
            self._compiling.cancel()
