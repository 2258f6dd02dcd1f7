"""Start the server at an address, announce its link, and remove its files at the end."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lowlift.errors import InvalidInput, MissingExtra
from lowlift.web.limits import Limits

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LEAST_PASSWORD = 12
#: Bytes of the temporary folder's path: a socket's has 107, and 32 are added.
_LONGEST = 75


@dataclass(frozen=True)
class Address:
    """Where the server listens.

    Parameters
    ----------
    host, port
        Port 0 takes a free one.
    names
        Further names that browsers use for it.
    certificate, key
        PEM files for https; needed, like the password, beyond this machine.
    password
        Asked for instead of the link that works once.
    """

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    password: str | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InvalidInput("https needs a certificate and its key.", advice="https")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise InvalidInput(f"there is no file {path.name}.")
        if self.password is not None and len(self.password) < _LEAST_PASSWORD:
            raise InvalidInput(f"the password must have {_LEAST_PASSWORD} characters or more.")
        if not self.is_local and (self.password is None or self.certificate is None):
            raise InvalidInput(
                f"{self.host} can be reached from other machines: this needs a password, a "
                "certificate and its key.",
                advice="remote",
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return False

    @property
    def scheme(self) -> str:
        """The scheme of its URLs."""
        return "http" if self.certificate is None else "https"

    def hosts(self, port: int) -> frozenset[str]:
        """Return the Host headers that are ours."""
        names = {self.host, *self.names, *(_LOOPBACK if self.is_local else ())}
        shown = {_bracketed(name).lower() for name in names}
        default = 443 if self.scheme == "https" else 80
        return frozenset(
            {f"{name}:{port}" for name in shown} | (shown if port == default else set())
        )

    def url(self, port: int) -> str:
        """Return what to type into a browser."""
        return f"{self.scheme}://{_bracketed(self.names[0] if self.names else self.host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def serve(
    source: Any = None,
    *,
    engine: str | None = None,
    address: Address | None = None,
    upload_limit: int | None = None,
    limits: Limits | None = None,
    opens_browser: bool = True,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the web app until it is interrupted; its files are removed then.

    Parameters
    ----------
    source, engine
        A table to offer, as for `lowlift.tables.open_table`; others are uploaded.
    address
        Where to listen; by default a free port of this machine only.
    upload_limit
        The largest upload, in bytes, in place of ``limits.upload_bytes``.
    limits
        Of requests, connections and passwords; the defaults fit a team.
    opens_browser
        Whether to open it in the browser.
    say
        Tells where it is.

    Raises
    ------
    InvalidInput
        For a table that cannot be opened or an address that cannot be taken.
    MissingExtra
        Without ``lowlift[web]``.
    """
    try:
        from lowlift.web.access import AccessControl
        from lowlift.web.app import create_app
        from lowlift.web.connections import Connections
        from lowlift.web.sessions import SessionTable
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[web]' to run the web app.") from error
    address, limits = address or Address(), limits or Limits()
    if upload_limit is not None:
        limits = replace(limits, upload_bytes=upload_limit)
    if len(os.fsencode(tempfile.gettempdir())) > _LONGEST:
        raise InvalidInput(
            "the temporary folder's path is too long for the sockets that jobs are started by. "
            "Set TMPDIR to a shorter one, such as /tmp."
        )
    _show_errors()
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold rows
    given = None if source is None else _given(source, engine, SessionTable)
    with _bound(address) as listening, tempfile.TemporaryDirectory(prefix="lowlift-web-") as name:
        port = listening.getsockname()[1]
        access, url = AccessControl(address.password, limits), address.url(port)
        connections = Connections(limits)
        app = create_app(
            Path(name),
            access,
            given=given,
            hosts=address.hosts(port),
            scheme=address.scheme,
            is_local=address.is_local,
            limits=limits,
            connections=connections,
        )
        _announce(access, url, Path(name), opens_browser, say)
        _run(app, connections, address, listening, limits.head_seconds)


def _run(
    app: Any, connections: Any, address: Address, listening: socket.socket, seconds: float
) -> None:
    """Serve until a signal arrives; TLS must start within so many seconds."""
    import uvicorn

    from lowlift.web.connections import Loop

    config = uvicorn.Config(
        app,
        http=connections.protocol,
        ws="none",  # its connections would have no deadlines
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        date_header=False,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    with (
        _ended_by_signals(server),
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=lambda: Loop(seconds)) as runner,
    ):
        runner.run(server.serve(sockets=[listening]))


@contextlib.contextmanager
def _ended_by_signals(server: Any) -> Iterator[None]:
    """Remove the files whatever ends the server.

    After its own end uvicorn raises SIGTERM again, which is taken for Ctrl+C; it knows nothing of
    SIGHUP, which ends it in the same way.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[signal.Signals, Any] = {
        signal.SIGTERM: signal.default_int_handler,
        signal.SIGHUP: lambda *_: setattr(server, "should_exit", True),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _given(source: Any, engine: str | None, kind: Callable[..., Any]) -> Any:
    """Open the table once, so that a wrong one is refused at the start."""
    from lowlift.tables import open_table

    with open_table(source, engine) as table:
        return kind(table.description, source, engine)


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(128)  # so that the address answers once it is said
    except OSError as error:
        listening.close()
        raise InvalidInput(
            f"cannot listen on {address.host} port {address.port}: {error.strerror}. "
            "Use another port."
        ) from error
    return listening


def _announce(
    access: Any, url: str, folder: Path, opens_browser: bool, say: Callable[[str], object]
) -> None:
    """Say where the server is, and open it in the browser."""
    if access.has_password:
        say(f"lowlift is at {url} (password). Stop it with Ctrl+C.")
        return
    say("lowlift is at (this link works once, within ten minutes):")
    say(f"  {url}/open?token={access.link()}")
    say("Stop it with Ctrl+C; its files are removed then.")
    if opens_browser:
        # A link on a command line is seen by every user of the machine; a private file is not.
        page = folder / "open.html"
        target = f"{url}/open?token={access.link()}"
        page.touch(mode=0o600)
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={target}">')
        say("It opens in your browser; if it does not, use the link.")
        threading.Timer(0.5, webbrowser.open, (page.as_uri(),)).start()
    if sys.stdin.isatty():
        say("Press Enter for another link.")
        threading.Thread(target=_more_links, args=(access, url, say), daemon=True).start()


def _more_links(access: Any, url: str, say: Callable[[str], object]) -> None:
    for _ in sys.stdin:
        say(f"  {url}/open?token={access.link()}")


def _show_errors() -> None:
    """Let errors of the app reach standard error, unless the application has handlers.

    The library's own logger has one that drops them.
    """
    if not logging.getLogger().handlers:
        logging.getLogger("lowlift.web").addHandler(logging.StreamHandler())
