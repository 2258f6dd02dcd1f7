"""Access control: links that work once, and the password."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from lowlift.web.limits import Limits

#: Seconds that a link is good.
_LINK_SECONDS = 600.0
#: Guesses of one client that wait for each other; clients that are remembered.
_MOST_TURNS, _MOST_CLIENTS = 4, 1000
#: How many times a client's pause is doubled.
_MOST_DOUBLED = 4
#: Hashes that are computed at a time.
_HASHES = 2

#: Who guesses: an address, and the cookie of its login page.
Client: TypeAlias = tuple[str, str]


class TooManyGuesses(Exception):
    """A guess that is not tried: too many wait."""


@dataclass(eq=False)
class _Guesser:
    """One client: its guesses take their turns, and each wrong one lengthens its pause."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    n_turns: int = 0
    n_wrong: int = 0


class AccessControl:
    """The links that were given out, and the password.

    A client has one guess at a time, and waits after a wrong one. Guesses of different clients do
    not wait for each other's pauses, only for the few that are being tried: all together are
    limited by `Limits.guesses_per_second`, whoever sends them. Hashes are computed in threads, so
    pages do not wait for them.
    """

    def __init__(self, password: str | None = None, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._salt = secrets.token_bytes(16)
        self._hash = None if password is None else self._hashed(password)
        #: The links that were not used, and when they end.
        self._links: dict[str, float] = {}
        self._guessers: dict[Client, _Guesser] = {}
        #: Guesses that wait to be tried, by address.
        self._waiting: Counter[str] = Counter()
        self._next = 0.0
        self._hashing = asyncio.Semaphore(_HASHES)

    @property
    def has_password(self) -> bool:
        """Whether the password lets a browser in, rather than links."""
        return self._hash is not None

    def link(self) -> str:
        """Return the token of a new link, good for ten minutes."""
        token = secrets.token_urlsafe(32)
        self._links[token] = time.monotonic() + _LINK_SECONDS
        return token

    def opens_by_link(self, token: str) -> bool:
        """Return whether a link is good, and use it up."""
        for known, end in list(self._links.items()):
            if hmac.compare_digest(known.encode(), token.encode()):
                del self._links[known]
                return time.monotonic() < end
        return False

    async def opens_by_password(self, client: Client, given: str) -> bool:
        """Return whether the password is right; for a wrong one, after a pause.

        Raises
        ------
        TooManyGuesses
            When too many wait, of this client, of its address, or in all.
        """
        guesser = self._guesser(client)
        if guesser.n_turns >= _MOST_TURNS:
            raise TooManyGuesses
        guesser.n_turns += 1
        try:
            async with guesser.turn:
                if await self._try(client[0], given):
                    guesser.n_wrong = 0
                    return True
                pause = self._pause(guesser)
                guesser.n_wrong += 1
                await asyncio.sleep(pause)
                return False
        finally:
            guesser.n_turns -= 1

    async def _try(self, address: str, given: str) -> bool:
        """Compare a guess with the password, when its turn has come."""
        most = self._limits.waiting_guesses
        if self._waiting.total() >= most or self._waiting[address] >= max(1, most // 2):
            raise TooManyGuesses
        self._waiting[address] += 1
        try:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + 1 / self._limits.guesses_per_second
            await asyncio.sleep(start - now)
            async with self._hashing:
                found = await asyncio.to_thread(self._hashed, given)
        finally:
            self._waiting[address] -= 1
            self._waiting += Counter()  # forgets addresses without any
        return self._hash is not None and hmac.compare_digest(found, self._hash)

    def _pause(self, guesser: _Guesser) -> float:
        """Return the seconds that the next wrong guess costs a client."""
        return self._limits.wrong_password_seconds * 2.0 ** min(guesser.n_wrong, _MOST_DOUBLED)

    def _hashed(self, password: str) -> bytes:
        text = password.encode("utf-8", "surrogatepass")
        return hashlib.scrypt(text, salt=self._salt, n=2**13, r=8, p=1)

    def _guesser(self, client: Client) -> _Guesser:
        """Return what is known of a client; the oldest that does not wait is forgotten."""
        found = self._guessers.pop(client, None) or _Guesser()
        self._guessers[client] = found
        if len(self._guessers) > _MOST_CLIENTS:
            for key in [key for key, each in self._guessers.items() if not each.n_turns][:1]:
                del self._guessers[key]
        return found
