"""Getting in: the link that works once, the password; and whose session a request belongs to."""

import asyncio
import hmac
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from lowlift.web.house import House, NotIn
from lowlift.web.pages import show
from lowlift.web.sessions import Session

__all__ = ["InHouse", "InSession", "Token", "check_token", "router"]

router = APIRouter()
#: Seconds that a wrong password costs.
_DELAY = 1.0


def _house(request: Request) -> House:
    found: House = request.app.state.house
    return found


InHouse = Annotated[House, Depends(_house)]
Token = Annotated[str, Form()]


def _cookie(request: Request, name: str = "lowlift") -> str:
    """Return a cookie's name: ports share cookies, so it has the port."""
    return f"{name}-{request.url.port or 0}"


def _session(request: Request, house: InHouse) -> Session:
    found = house.sessions.find(request.cookies.get(_cookie(request), ""))
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
    if not house.door.opens_by_link(token):
        return HTMLResponse(show("closed.html"), 403)
    return _let_in(request, house, HTMLResponse(show("welcome.html")))


@router.get("/login")
async def login_page(request: Request, house: InHouse) -> Response:
    """Ask for the password."""
    if not house.door.has_password:
        raise HTTPException(404)
    proof = secrets.token_urlsafe(24)
    answer = HTMLResponse(show("login.html", token=proof, message=""))
    _set(answer, _cookie(request, "lowlift-login"), proof, house)
    return answer


@router.post("/login")
async def login(
    request: Request, house: InHouse, token: Token, password: Annotated[str, Form()] = ""
) -> Response:
    """Let a browser in by the password."""
    proof = request.cookies.get(_cookie(request, "lowlift-login"), "")
    if not proof or not hmac.compare_digest(proof.encode(), token.encode()):
        raise HTTPException(403)
    async with house.guess:  # one after the other: a wrong one costs a second, for all
        if house.door.opens_by_password(password):
            return _let_in(request, house, RedirectResponse("/", 303))
        await asyncio.sleep(_DELAY)
    return HTMLResponse(show("login.html", token=proof, message="This is not the password."), 403)


def _let_in(request: Request, house: House, answer: Response) -> Response:
    cookie = house.sessions.start(request.cookies.get(_cookie(request), ""))
    _set(answer, _cookie(request), cookie, house)
    return answer


def _set(answer: Response, name: str, value: str, house: House) -> None:
    answer.set_cookie(name, value, httponly=True, samesite="strict", secure=house.is_secure)
