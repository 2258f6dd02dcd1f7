"""Connections with deadlines: a client that does not send its request in time is cut off.

uvicorn closes a connection that is idle after an answer, and no other one.
"""

import asyncio
import time
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from lowlift.web.limits import Limits


class Connections:
    """The open connections of a server: limited in number and in the time that each may take."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: set[Connection] = set()

    @property
    def protocol(self) -> type["Connection"]:
        """The protocol for uvicorn: its connections are kept here."""
        return type("Connection", (Connection,), {"kept_in": self})

    def add(self, new: "Connection") -> None:
        """Keep a connection; when there are too many, close one."""
        self._open.add(new)
        if len(self._open) > self._limits.connections:
            waiting = [each for each in self._open if each.is_incomplete and each is not new]
            self._cut(min(waiting, key=lambda each: each.heard, default=new))

    def remove(self, old: "Connection") -> None:
        """Forget a connection that has ended."""
        self._open.discard(old)

    def sweep(self) -> None:
        """Close the connections that have exceeded their time."""
        now = time.monotonic()
        for each in [each for each in self._open if each.is_late(now, self._limits)]:
            self._cut(each)

    def close(self) -> None:
        """Close all: uvicorn would wait for clients that do not take their answers."""
        for each in list(self._open):
            self._cut(each)

    def _cut(self, connection: "Connection") -> None:
        self._open.discard(connection)
        connection.transport.abort()


class Connection(H11Protocol):
    """A connection that knows what it waits for."""

    kept_in: ClassVar[Connections]
    #: When the last byte came.
    heard: float
    #: When the request began: with its first byte, or with the connection.
    _began: float
    #: The bytes of an answer that the client has not taken, and since when there are so many.
    _unsent: tuple[int, float]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.heard = self._began = time.monotonic()
        self._unsent = 0, self._began
        self.kept_in.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.kept_in.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request."""
        self.heard = time.monotonic()
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self._began = self.heard
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of one that is answered already."""
        super().on_response_complete()
        self._began = time.monotonic()

    @property
    def is_incomplete(self) -> bool:
        """Whether a request, or the rest of one, is waited for."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    def is_late(self, now: float, limits: Limits) -> bool:
        """Return whether the client has taken too long to send or to take something."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent != self._unsent[0]:
            self._unsent = unsent, now
        if now - self._unsent[1] > limits.body_seconds:
            return True
        if self.conn.their_state is h11.IDLE:
            return now - self._began > limits.head_seconds
        if self.conn.their_state is not h11.SEND_BODY or self.flow.read_paused:
            return False
        is_upload = self.scope["path"] == "/upload" and not self.cycle.response_complete
        return now - (self.heard if is_upload else self._began) > limits.body_seconds


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose servers wait a limited time for the start of TLS."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def create_server(self, *arguments: Any, **options: Any) -> Any:
        """Start a server."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = self._seconds
        return await super().create_server(*arguments, **options)
