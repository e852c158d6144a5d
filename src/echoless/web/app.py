"""The review page as an application: addresses, forms and how errors are answered.

Handlers run in the event loop and hand all work on the session, rendering included, to the thread
of the store (`store_queue`). What may take long, such as apply, undo and looking again, runs as a
job; meanwhile every address answers with a page that waits. Who may ask is decided before a request
comes here (`access`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from starlette import applications, responses, routing

from echoless.core.destination import command_line
from echoless.core.errors import EcholessError, PlanRefused
from echoless.execution.executor import Run
from echoless.execution.rollback import Undone
from echoless.web import notices
from echoless.web.review_pages import Reply, ReviewPages, fragment_of
from echoless.web.review_query import Fields, field, fields_of
from echoless.web.store_queue import Busy, Ended, StoreQueue, Work
from echoless.web.templating import render
from echoless.workflows.review.items import KINDS
from echoless.workflows.review.session import ReviewSession

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Handler: TypeAlias = "Callable[[Request], Awaitable[Response]]"

FRAGMENT: Final = "X-Fragment"
"""Header of requests of the script, and of answers that it may put in place."""

_STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "review.js": "text/javascript; charset=utf-8",
}
_PATIENCE: Final = 0.4
"""Seconds a browser waits for a job before it is shown the page that waits."""


class _PageOrPart(Protocol):
    """Makes a page, or the fragment of it that changed."""

    def __call__(self, fields: Fields, *, fragment: bool) -> Reply: ...


def review_app(
    session: ReviewSession, calls: StoreQueue, *, label: str = "", command: str = ""
) -> Starlette:
    """Returns the review page of a session.

    Args:
        session: Its store is open in the thread that serves `calls`.
        calls: Queue for that thread.
        label: Name of the store in titles; its URL by default.
        command: Command that starts this review again, for those whose page lost its server.

    Raises:
        MissingExtra: Starlette is not installed.
    """
    url = session.store.url
    pages = ReviewPages(session, label or url, command or command_line("review", url))
    return _Application(session, calls, pages).made()


@dataclass(slots=True)
class _Application:
    """The handlers of one review."""

    session: ReviewSession
    calls: StoreQueue
    pages: ReviewPages

    def made(self) -> Starlette:
        """Returns the application."""
        pages = self.pages
        get = {
            **{f"/{kind}": self._page(partial(pages.listed, kind)) for kind in KINDS},
            "/": self._start,
            "/card": self._page_or_part(pages.card),
            "/apart": self._page(pages.apart),
            "/plan": self._page(pages.plan_page),
            "/history": self._page(pages.history),
            "/help": self._help,
            "/working": self._working,
            "/static/{name}": _static,
        }
        post = {
            "/card": self._page_or_part(pages.card),
            "/answer": self._page_or_part(pages.answer),
            "/undo": self._page_or_part(pages.undo),
            "/accept-rest": self._page_or_part(pages.accept_rest),
            "/apart": self._page(pages.together),
            "/apply": self._apply,
            "/undo-run": self._undo_run,
            "/look": self._look,
        }
        return applications.Starlette(
            routes=[
                routing.Route(path, handler, methods=[method])
                for method, handlers in (("GET", get), ("POST", post))
                for path, handler in handlers.items()
            ],
            exception_handlers={
                404: self._missing,
                405: self._missing,
                Busy: self._unserved,
                Ended: self._unserved,
                EcholessError: self._failed,
            },
        )

    # ------------------------------------------------------------------ what takes no fields

    async def _start(self, _request: Request) -> Response:
        return responses.RedirectResponse(await self.calls.call(self.pages.first), 303)

    async def _help(self, request: Request) -> Response:
        return await self._reply(request, self.pages.help)

    # ------------------------------------------------------------------ what takes fields

    def _page(self, work: Callable[[Fields], Reply]) -> Handler:
        """Returns the handler of a whole page."""

        async def handle(request: Request) -> Response:
            fields = await _fields(request)
            return await self._reply(request, lambda: work(fields))

        return handle

    def _page_or_part(self, work: _PageOrPart) -> Handler:
        """Returns the handler of a page, or of a fragment where the script asks."""

        async def handle(request: Request) -> Response:
            fields, part = await _fields(request), _part(request)
            return await self._reply(request, lambda: work(fields, fragment=part))

        return handle

    # ------------------------------------------------------------------ what takes long

    async def _apply(self, request: Request) -> Response:
        digest = field(await _fields(request), "digest")

        def work(job: Work) -> Run:
            return self.session.apply(digest, job.actions, looking=job.progress)

        return await self._begin("Applying the plan", work)

    async def _undo_run(self, request: Request) -> Response:
        run = field(await _fields(request), "run")

        def work(job: Work) -> Undone:
            return self.session.undo_run(run, looking=job.progress)

        return await self._begin("Undoing the run", work)

    async def _look(self, _request: Request) -> Response:
        def work(job: Work) -> None:
            self.session.look(job.progress)

        return await self._begin("Looking at the store again", work, writes=False)

    async def _begin(
        self, title: str, work: Callable[[Work], object], *, writes: bool = True
    ) -> Response:
        """Starts a job, and waits a moment for short ones."""
        job = self.calls.begin(title, work, writes=writes)
        end = asyncio.get_running_loop().time() + _PATIENCE
        while job.state == "running" and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        return responses.RedirectResponse("/working", 303)

    async def _working(self, request: Request) -> Response:
        """Shows how far a job is, then its result."""
        job = self.calls.job
        if job is None:
            return responses.RedirectResponse("/same", 303)
        if job.state == "running":
            return _waiting(job)
        return await self._reply(request, lambda: self._result(job))

    def _result(self, job: Work) -> Reply:
        """Returns what a job did."""
        match job.problem, job.result:
            case PlanRefused() as problem, _:
                return self.pages.plan_page({}, problem=str(problem))
            case EcholessError() as problem, _:
                return self.pages.problem(str(problem), 422, fragment=False)
            case BaseException(), _:
                sentence = f"{job.title} failed. `echoless check` says whether anything is left."
                return self.pages.problem(sentence, 500, fragment=False)
            case None, Run() as run:
                return self.pages.applied(run)
            case None, Undone() as undone:
                return self.pages.undone(undone)
            case _:
                return Reply("", 303, "/same")

    # ------------------------------------------------------------------ errors

    async def _missing(self, request: Request, _problem: Exception) -> Response:
        pages, part = self.pages, _part(request)
        sentence = "The review has no such page."
        return await self._reply(
            request, lambda: pages.problem(sentence, 404, fragment=part, title="Not found")
        )

    async def _failed(self, request: Request, problem: Exception) -> Response:
        pages, part = self.pages, _part(request)
        return await self._reply(request, lambda: pages.problem(str(problem), 422, fragment=part))

    async def _unserved(self, request: Request, problem: Exception) -> Response:
        job = problem.job if isinstance(problem, Busy) else None
        if job is None or _part(request) or request.method == "POST":
            return _notice(problem, part=_part(request))
        return _waiting(job)

    # ------------------------------------------------------------------ replies

    async def _reply(self, request: Request, work: Callable[[], Reply]) -> Response:
        """Returns what the thread of the store makes of a request."""
        reply = await self.calls.call(work)
        if reply.location:
            return responses.RedirectResponse(reply.location, reply.status)
        return _html(reply.html, reply.status, part=_part(request))


async def _static(request: Request) -> Response:
    """Sends one of the known static files; no other file is opened."""
    name = request.path_params["name"]
    if name not in _STATIC:
        return responses.PlainTextResponse("There is no such file.", 404)
    data = (files("echoless.web") / "static" / name).read_bytes()
    return responses.Response(data, media_type=_STATIC[name])


async def _fields(request: Request) -> Fields:
    """Returns the values of a form, or of the query of a page that is only read."""
    if request.method != "POST":
        return fields_of(request.url.query)
    body = await request.body()
    return fields_of(body.decode("utf-8", "replace"))


def _part(request: Request) -> bool:
    """Returns whether the script asks."""
    return request.headers.get(FRAGMENT) == "1"


def _html(html: str, status: int, *, part: bool) -> Response:
    """Returns an HTML response; a fragment carries the header that marks fragments."""
    headers = {FRAGMENT: "1"} if part else {}
    return responses.HTMLResponse(html, status, headers)


def _waiting(job: Work) -> Response:
    """Returns the page that waits for a job."""
    return _html(render("review_working.html", job=job), 200, part=False)


def _notice(problem: Exception, *, part: bool) -> Response:
    """Returns why nothing was done, as a page that needs nothing of the session."""
    notice = notices.of_problem(problem)
    if not part:
        return _html(notice.body().decode("utf-8"), notice.status, part=False)
    return _html(fragment_of(problem=notice.text), notice.status, part=True)
