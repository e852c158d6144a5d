"""The queue of the thread that uses the store: order, one thread, long work, the end."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from echoless.core.errors import UsageError
from echoless.web.store_queue import Busy, Ended, StoreQueue, Work
from tests.web.review_stores import ask, store_thread


def test_all_work_runs_in_one_thread_that_is_not_the_caller_s() -> None:
    async def asked(calls: StoreQueue) -> set[int]:
        return set(await asyncio.gather(*(calls.call(threading.get_ident) for _ in range(20))))

    with store_thread() as calls:
        threads = asyncio.run(asked(calls)) | {ask(calls, threading.get_ident)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_an_error_of_the_work_is_the_caller_s_and_the_next_call_is_served() -> None:
    def fails() -> None:
        raise UsageError("no")

    with store_thread() as calls:
        with pytest.raises(UsageError, match="no"):
            ask(calls, fails)
        assert ask(calls, lambda: 7) == 7


def test_the_event_loop_is_free_while_work_runs() -> None:
    opened = threading.Event()

    async def both(calls: StoreQueue) -> bool:
        waiting = asyncio.ensure_future(calls.call(lambda: opened.wait(20)))
        await asyncio.sleep(0)
        opened.set()  # reached only because the loop does not wait
        return await waiting

    with store_thread() as calls:
        assert asyncio.run(both(calls))


def test_long_work_shows_how_far_it_is_and_refuses_other_work_meanwhile() -> None:
    at, on = threading.Event(), threading.Event()

    def work(job: Work) -> str:
        job.actions(3, 12)
        at.set()
        on.wait(20)
        return "applied"

    with store_thread() as calls:
        job = calls.begin("Applying the plan", work)
        assert at.wait(20)
        assert (job.state, job.stage, job.done, job.whole) == ("running", "writing", 3, 12)
        assert calls.running is job
        with pytest.raises(Busy, match="Applying the plan is under way") as problem:
            ask(calls, lambda: 1)
        assert problem.value.job is job
        with pytest.raises(Busy):
            calls.begin("Another", work)
        on.set()
        while calls.running:
            pass
        assert (job.state, job.result, job.problem) == ("done", "applied", None)
        assert ask(calls, lambda: 1) == 1


def test_long_work_that_fails_says_why() -> None:
    def work(_job: Work) -> None:
        raise UsageError("answers changed")

    with store_thread() as calls:
        job = calls.begin("Applying", work)
        while calls.running:
            pass
    assert job.state == "failed"
    assert str(job.problem) == "answers changed"


@pytest.mark.parametrize("writes", [True, False])
def test_the_end_waits_for_what_writes_and_stops_what_only_reads(writes: bool) -> None:
    at, on = threading.Event(), threading.Event()

    def work(job: Work) -> str:
        at.set()
        on.wait(20)
        job.progress("encoding", 1, 2)
        return "whole"

    with store_thread() as calls:
        job = calls.begin("Looking again", work, writes=writes)
        assert at.wait(20)
        calls.close()
        on.set()
    assert job.state == ("done" if writes else "failed")
    assert isinstance(job.problem, type(None) if writes else Ended)


def test_calls_that_wait_at_the_end_are_refused_and_later_ones_too() -> None:
    at, on, calls = threading.Event(), threading.Event(), StoreQueue()
    thread = threading.Thread(target=calls.serve)
    thread.start()

    def first() -> None:
        at.set()
        on.wait(20)

    async def story() -> None:
        begun = asyncio.ensure_future(calls.call(first))
        await asyncio.to_thread(at.wait, 20)
        late = asyncio.ensure_future(calls.call(lambda: 2))
        await asyncio.sleep(0)
        calls.close()
        on.set()
        await begun
        with pytest.raises(Ended, match="Nothing was done"):
            await late

    asyncio.run(story())
    thread.join(20)
    with pytest.raises(Ended):
        ask(calls, lambda: 3)


def test_a_call_that_comes_while_the_queue_ends_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = StoreQueue()
    thread = threading.Thread(target=calls.serve)
    thread.start()
    check = calls._check

    def checked_too_early() -> None:
        check()
        calls.close()
        thread.join(0.2)  # the queue ends between the check and the call, if nothing stops it

    monkeypatch.setattr(calls, "_check", checked_too_early)
    with pytest.raises(Ended):
        asyncio.run(asyncio.wait_for(calls.call(lambda: 1), 5))
    thread.join(20)


def test_an_interruption_fails_the_call_it_hit_and_reaches_the_thread() -> None:
    calls = StoreQueue()
    stopped: list[str] = []

    def served() -> None:
        try:
            calls.serve()
        except KeyboardInterrupt:
            stopped.append("yes")

    def interrupted(_job: Work) -> None:
        raise KeyboardInterrupt

    thread = threading.Thread(target=served)
    job = calls.begin("Applying", interrupted)
    thread.start()
    thread.join(20)
    assert stopped == ["yes"]
    assert job.state == "failed"
    with pytest.raises(Ended):
        ask(calls, lambda: 1)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no such signals")
def test_a_signal_that_came_while_the_thread_fell_asleep_ends_the_queue() -> None:
    calls, ended = StoreQueue(), threading.Event()
    in_time: list[bool] = []

    def send() -> None:
        ask(calls, lambda: None)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # wakes this thread alone
        in_time.append(ended.wait(20))
        calls.close()

    before = signal.signal(signal.SIGUSR1, lambda *_: calls.close())
    sender = threading.Thread(target=send)
    sender.start()
    try:
        calls.serve()
    finally:
        ended.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert in_time == [True]
