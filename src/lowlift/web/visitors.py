"""Getting in: the link that works once, the password; and whose session a request belongs to."""

import hmac
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lowlift.web.access import TooManyGuesses
from lowlift.web.guard import cookie_name
from lowlift.web.house import House, NotIn
from lowlift.web.pages import show
from lowlift.web.sessions import Session

__all__ = ["InHouse", "InSession", "Token", "check_token", "router"]

router = APIRouter()
_WRONG = "This is not the password."
_TOO_MANY = "Too many passwords are being tried. Wait a few seconds, then try again."


def _house(request: Request) -> House:
    found: House = request.app.state.house
    return found


InHouse = Annotated[House, Depends(_house)]
Token = Annotated[str, Form()]


def _session(request: Request, house: InHouse) -> Session:
    found = house.sessions.find(request.cookies.get(cookie_name(request), ""))
    if found is None:
        raise NotIn
    return found


InSession = Annotated[Session, Depends(_session)]


def check_token(session: Session, token: str) -> None:
    """Refuse a form that is not from a page of this session."""
    if not hmac.compare_digest(session.token.encode(), token.encode()):
        raise HTTPException(403)


@router.get("/open")
async def open_by_link(request: Request, house: InHouse, token: str = "") -> Response:
    """Let a browser in by its link.

    The page leads on by itself: a redirect would still count as coming from elsewhere, and the
    browser would keep the cookie back.
    """
    if not house.access.opens_by_link(token):
        return HTMLResponse(show("closed.html"), 403)
    return _let_in(request, house, HTMLResponse(show("welcome.html")))


@router.get("/login")
async def login_page(request: Request, house: InHouse) -> Response:
    """Ask for the password."""
    if not house.access.has_password:
        raise HTTPException(404)
    proof = secrets.token_urlsafe(24)
    answer = HTMLResponse(show("login.html", token=proof, message=""))
    _set(answer, cookie_name(request, "lowlift-login"), proof, house)
    return answer


@router.post("/login")
async def login(
    request: Request, house: InHouse, token: Token, password: Annotated[str, Form()] = ""
) -> Response:
    """Let a browser in by the password."""
    proof = request.cookies.get(cookie_name(request, "lowlift-login"), "")
    if not proof or not hmac.compare_digest(proof.encode(), token.encode()):
        raise HTTPException(403)
    client = request.client.host if request.client else "", proof
    try:
        if await house.access.opens_by_password(client, password):
            return _let_in(request, house, RedirectResponse("/", 303))
        message, status = _WRONG, 403
    except TooManyGuesses:
        message, status = _TOO_MANY, 429
    return HTMLResponse(show("login.html", token=proof, message=message), status)


def _let_in(request: Request, house: House, answer: Response) -> Response:
    cookie = house.sessions.start(request.cookies.get(cookie_name(request), ""))
    _set(answer, cookie_name(request), cookie, house)
    return answer


def _set(answer: Response, name: str, value: str, house: House) -> None:
    answer.set_cookie(name, value, httponly=True, samesite="strict", secure=house.is_secure)
