"""How many threads encoding takes."""

import pytest

from echoless.core import threads as pace
from echoless.core.threads import AGAIN, THREADS, Pace


class Clock:
    """Time that passes as a table says, by threads."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.now = 0.0
        self.seconds = seconds

    def work(self, one: Pace) -> int:
        with one.measured(1000) as threads:
            self.now += self.seconds[threads]
        return threads


def clock(monkeypatch: pytest.MonkeyPatch, most: int, seconds: dict[int, float]) -> Clock:
    made = Clock(seconds)
    monkeypatch.setattr(pace, "perf_counter", lambda: made.now)
    monkeypatch.setattr(pace, "workers", lambda: most)
    return made


def test_the_count_that_was_fastest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, one = clock(monkeypatch, 8, {8: 3.0, 4: 1.0, 1: 2.0}), Pace()
    assert [busy.work(one) for _ in range(6)] == [8, 4, 1, 4, 4, 4]


def test_it_looks_again_when_the_machine_may_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, one = clock(monkeypatch, 2, {2: 3.0, 1: 1.0}), Pace()
    assert [busy.work(one) for _ in range(AGAIN)].count(1) == AGAIN - 1
    busy.seconds = {2: 0.5, 1: 1.0}
    assert [busy.work(one) for _ in range(4)] == [2, 1, 2, 2]


def test_never_more_threads_than_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "1")
    one = Pace()
    for _ in range(3):
        with one.measured(1) as threads:
            assert threads == 1
