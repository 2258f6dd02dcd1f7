"""Log-in by a link that works once or by the password, and the session of a request."""

import hmac
import secrets
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lowlift.web.access import AccessControl, TooManyGuesses
from lowlift.web.guard import cookie_name
from lowlift.web.limits import Limits
from lowlift.web.pages import show
from lowlift.web.sessions import Session, Sessions

router = APIRouter()
_WRONG = "This is not the password."
_TOO_MANY = "Too many passwords are being tried. Wait a few seconds, then try again."


class NotIn(Exception):
    """A request without a session."""


@dataclass(frozen=True, eq=False)
class AppState:
    """What all requests share: access control, sessions and limits."""

    access: AccessControl
    sessions: Sessions
    limits: Limits
    is_secure: bool


def _state(request: Request) -> AppState:
    found: AppState = request.app.state.shared
    return found


InState = Annotated[AppState, Depends(_state)]
Token = Annotated[str, Form()]


def _session(request: Request, state: InState) -> Session:
    found = state.sessions.find(request.cookies.get(cookie_name(request), ""))
    if found is None:
        raise NotIn
    return found


InSession = Annotated[Session, Depends(_session)]


def check_token(session: Session, token: str) -> None:
    """Refuse a form that is not from a page of this session."""
    if not hmac.compare_digest(session.token.encode(), token.encode()):
        raise HTTPException(403)


@router.get("/open")
async def open_by_link(request: Request, state: InState, token: str = "") -> Response:
    """Start a session for a browser that has a link.

    The page leads on by itself: a redirect would still count as coming from elsewhere, and the
    browser would keep the cookie back.
    """
    if not state.access.opens_by_link(token):
        return HTMLResponse(show("closed.html"), 403)
    return _let_in(request, state, HTMLResponse(show("welcome.html")))


@router.get("/login")
async def login_page(request: Request, state: InState) -> Response:
    """Ask for the password."""
    if not state.access.has_password:
        raise HTTPException(404)
    proof = secrets.token_urlsafe(24)
    answer = HTMLResponse(show("login.html", token=proof, message=""))
    _set(answer, cookie_name(request, "lowlift-login"), proof, state)
    return answer


@router.post("/login")
async def login(
    request: Request, state: InState, token: Token, password: Annotated[str, Form()] = ""
) -> Response:
    """Start a session for a browser that has the password."""
    proof = request.cookies.get(cookie_name(request, "lowlift-login"), "")
    if not proof or not hmac.compare_digest(proof.encode(), token.encode()):
        raise HTTPException(403)
    client = request.client.host if request.client else "", proof
    try:
        if await state.access.opens_by_password(client, password):
            return _let_in(request, state, RedirectResponse("/", 303))
        message, status = _WRONG, 403
    except TooManyGuesses:
        message, status = _TOO_MANY, 429
    return HTMLResponse(show("login.html", token=proof, message=message), status)


def _let_in(request: Request, state: AppState, answer: Response) -> Response:
    cookie = state.sessions.start(request.cookies.get(cookie_name(request), ""))
    _set(answer, cookie_name(request), cookie, state)
    return answer


def _set(answer: Response, name: str, value: str, state: AppState) -> None:
    answer.set_cookie(name, value, httponly=True, samesite="strict", secure=state.is_secure)
