"""Calls on a store, run one at a time in the thread that opened it.

A connection to SQLite belongs to the thread that opened it, and a review session takes one call at
a time. So the handlers of a page never touch the store. They hand their work to a `StoreQueue`:

- `await queue.call(work)` for what takes a moment: an answer, a list, the preview of a plan. The
  event loop serves others meanwhile.
- `queue.begin("Applying the plan", work)` for what may take long: apply, undo, look again. It
  returns a `Work` at once; a page that waits shows `job.stage`, `job.done` and `job.whole`. As long
  as a job runs, `call` and `begin` raise `Busy`, so that no request waits for it.

The thread that opened the store runs `serve` until `close`. The command line does that in the main
thread, where Ctrl-C arrives, and the server runs in a second one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

from echoless.core.errors import EcholessError

T = TypeVar("T")

JobState: TypeAlias = Literal["running", "done", "failed"]


class Busy(EcholessError):
    """Error for a call while long work is under way.

    Attributes:
        job: The work.
    """

    def __init__(self, job: Work) -> None:
        """Says what is being done."""
        super().__init__(f"{job.title} is under way. Wait until it is done, then try again.")
        self.job = job


class Ended(EcholessError):
    """Error for a call on a store that is being closed."""

    def __init__(self, *, begun: bool = False) -> None:
        """Says that the review ends.

        Args:
            begun: Whether the work had begun; what it had stored by then is stored.
        """
        done = "This may be half done, and loses nothing" if begun else "Nothing was done"
        super().__init__(f"The review is ending. {done}; start it again to go on.")


@dataclass(slots=True)
class Work:
    """Long work on the store, and how far it is.

    Attributes:
        title: What it does, as a noun or a gerund: "Applying the plan".
        writes: Whether it changes the store; then an end of the review waits for it.
        stage: What is being done now; empty before the first sign.
        done: How much of the stage is done.
        whole: How much there is to do in the stage; 0 where that is not known.
        state: `running`, `done` or `failed`.
        result: What the work returned, once it is done.
        problem: Why it failed, or None.
        ending: Whether the review ends; work that only reads then stops at its next sign.
    """

    title: str
    writes: bool = True
    stage: str = ""
    done: int = 0
    whole: int = 0
    state: JobState = "running"
    result: object = None
    problem: BaseException | None = None
    ending: bool = False

    def progress(self, stage: str, done: int, whole: int) -> None:
        """Takes a sign of progress, in the form of `find`.

        Raises:
            Ended: The review ends and this work only reads.
        """
        if self.ending and not self.writes:
            raise Ended(begun=True)
        self.stage, self.done, self.whole = stage, done, whole

    def actions(self, done: int, whole: int) -> None:
        """Takes a sign of progress, in the form of `apply`."""
        self.progress("writing", done, whole)

    def settle(self, over: Future[object]) -> None:
        """Writes down how the work ended."""
        self.problem = over.exception()
        self.result = over.result() if self.problem is None else None
        self.state = "done" if self.problem is None else "failed"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that waits, with the place of its result."""

    work: Callable[[], object]
    future: Future[object]

    def run(self) -> None:
        """Runs the work, unless nobody waits for it any more."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.work()
        except Exception as problem:  # noqa: BLE001 - it is the caller's
            self.future.set_exception(problem)
        except BaseException:  # an interruption is for this thread; it would end an event loop
            self.future.set_exception(Ended(begun=True))
            raise
        else:
            self.future.set_result(result)

    def refuse(self) -> None:
        """Fails without running the work."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(Ended())


_STOP: Final = None

_AWAKE_SECONDS: Final = 0.5
"""Seconds until a thread that waits runs the handlers of signals that did not wake it."""


class StoreQueue:
    """Queue of calls for the thread that uses the store; may be used from any thread.

    Attributes:
        job: The latest long work, or None before the first.
    """

    def __init__(self) -> None:
        """Starts empty."""
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._ending = False  # no event: its lock and a signal in the same thread would block
        self._starting = threading.Lock()
        self.job: Work | None = None

    @property
    def running(self) -> Work | None:
        """Returns the long work that is under way, or None."""
        job = self.job
        return job if job is not None and job.state == "running" else None

    # ------------------------------------------------------------------ for those who ask

    async def call(self, work: Callable[[], T]) -> T:
        """Runs some work in the thread of the store and waits without blocking the event loop.

        Work that has begun goes on to its end if the caller gives up.

        Raises:
            Busy: Long work is under way.
            Ended: The store is being closed.
        """
        future: Future[T] = Future()
        with self._starting:
            self._check()
            self._calls.put(_Call(work, future))  # type: ignore[arg-type]
        return await asyncio.wrap_future(future)

    def begin(self, title: str, work: Callable[[Work], object], *, writes: bool = True) -> Work:
        """Starts long work in the thread of the store.

        Args:
            title: What it does; see `Work.title`.
            work: Given the job, whose `progress` and `actions` it hands to the library.
            writes: Whether it changes the store.

        Returns:
            The job, which holds result or problem once it is over.

        Raises:
            Busy: Other long work is under way.
            Ended: The store is being closed.
        """
        with self._starting:
            self._check()
            job = Work(title, writes)
            over: Future[object] = Future()
            over.add_done_callback(job.settle)
            self.job = job
            self._calls.put(_Call(lambda: work(job), over))
        return job

    def _check(self) -> None:
        """Checks that a call would be run soon; errors as for `call`."""
        if self._ending:
            raise Ended
        job = self.running
        if job is not None:
            raise Busy(job)

    # ------------------------------------------------------------------ for the one that serves

    def serve(self) -> None:
        """Runs calls in the calling thread, in their order, until `close`.

        Calls that were not begun by then fail with `Ended`. An interruption (`KeyboardInterrupt`)
        of the thread fails the call it hit and goes on to the caller.
        """
        try:
            while (call := self._next()) is not _STOP and not self._ending:
                call.run()
            if call is not _STOP:
                call.refuse()
        finally:
            self._ending = True
            self._refuse_waiting()

    def _next(self) -> _Call | None:
        """Waits for the next call, awake at times.

        A signal that comes while the thread falls asleep, or that the system gives to another
        thread, does not wake it: its handler runs only once this thread runs again.
        """
        while True:
            with suppress(queue.Empty):
                return self._calls.get(timeout=_AWAKE_SECONDS)

    def close(self) -> None:
        """Ends `serve` after the call that is running; may be called twice, and by a signal.

        Long work that only reads ends at its next sign of progress; long work that writes is
        brought to its end.
        """
        self._ending = True
        if self.job is not None:
            self.job.ending = True
        self._calls.put(_STOP)

    def _refuse_waiting(self) -> None:
        """Fails all calls that wait, also one that was checked before the end and comes now."""
        with self._starting:
            while not self._calls.empty():
                call = self._calls.get_nowait()
                if call is not _STOP:
                    call.refuse()
