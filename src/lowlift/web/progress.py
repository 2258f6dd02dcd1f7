"""How far work is, as events that a page listens to; and how a user ends it."""

import time
from collections.abc import AsyncIterator

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from lowlift.web.answers import first_answer, progress_of
from lowlift.web.jobs import Job
from lowlift.web.pages import one_line, show
from lowlift.web.visitors import InSession, Token, check_token

router = APIRouter()
#: The least seconds between two events of a job, and the most.
_PAUSE, _HEARTBEAT = 0.15, 2.0


@router.get("/jobs/{identity}/events")
async def events(identity: str, session: InSession, has_first: bool = False) -> Response:
    """Send how far a job is, until it is done; a job with a listener is not ended.

    A page that was made before the job's first answer came (not `has_first`) is told to ask again.
    """
    stream = _stream(session.by_id(identity), has_first=has_first)
    return StreamingResponse(stream, media_type="text/event-stream")


@router.get("/compiling")
async def compiling(session: InSession) -> Response:
    """Send how far the compilation is."""
    if session.compiling is None:
        raise HTTPException(404)
    stream = _stream(session.compiling, is_compiling=True)
    return StreamingResponse(stream, media_type="text/event-stream")


async def _stream(
    job: Job, *, has_first: bool = False, is_compiling: bool = False
) -> AsyncIterator[str]:
    def is_answered() -> bool:
        return not has_first and first_answer(job) is not None

    job.listeners += 1
    try:
        while job.is_running and not is_answered():  # the page shows an answer beside the search
            progress = progress_of(job, is_compiling=is_compiling)
            yield f"event: step\ndata: {one_line(progress)}\n\n"
            await job.change(_HEARTBEAT)
            await job.wait(_PAUSE, is_answered)
        if job.state == "cancelled":
            yield f"event: step\ndata: {one_line(progress_of(job))}\n\n"
        # An abandoned job has a page after all, which was late to listen: it asks again.
        yield f"event: {'end' if job.state == 'cancelled' else 'done'}\ndata: -\n\n"
    finally:
        job.listeners -= 1
        job.last_seen = time.monotonic()


@router.post("/jobs/{identity}/{verb}")
async def end(identity: str, verb: str, session: InSession, token: Token) -> Response:
    """Stop a search with the best so far, or cancel it."""
    check_token(session, token)
    job = session.by_id(identity)
    if verb == "stop":
        job.stop()
        return Response(status_code=204)
    if verb != "cancel":
        raise HTTPException(404)
    job.cancel()
    return HTMLResponse(show("cancelled.html"))
