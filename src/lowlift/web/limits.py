"""The limits of the server: sizes, numbers and seconds."""

from dataclasses import dataclass, fields

from lowlift.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server; all are positive.

    Parameters
    ----------
    upload_bytes
        The largest file.
    form_bytes, login_bytes
        The longest request that is no upload: in a session, and without one.
    head_seconds
        From a request's first byte (or the connection's start) to the end of its headers.
    body_seconds
        For a form, until all of it has arrived; for an upload, between two pieces of it; for an
        answer, between two pieces that the client takes.
    connections
        Open at a time. One more closes the one that has been silent longest before its request
        was complete.
    wrong_password_seconds
        Until a client hears that its password is wrong; doubled each time, up to 16 times this.
    guesses_per_second
        Passwords that are tried in a second, of all clients together.
    waiting_guesses
        Clients whose password waits to be tried; at most half of them from one address.
    tab_seconds
        Until the work of a closed tab is ended.
    sweep_seconds
        Between two looks for what has exceeded its time.
    """

    upload_bytes: int = 512 * 2**20
    form_bytes: int = 2**20
    login_bytes: int = 8 * 2**10
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    connections: int = 256
    wrong_password_seconds: float = 1.0
    guesses_per_second: float = 5.0
    waiting_guesses: int = 16
    tab_seconds: float = 5.0
    sweep_seconds: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise InvalidInput(f"{field.name} must be positive; got {value}.")
