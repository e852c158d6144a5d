"""Blocks of work on several threads: results in order, and no thread where there is one block."""

from threading import current_thread, get_ident

import pytest

from echoless.core.threads import THREADS, in_order


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_results_come_in_the_order_of_the_tasks(
    monkeypatch: pytest.MonkeyPatch, threads: str, count: int
) -> None:
    monkeypatch.setenv(THREADS, threads)
    tasks = ((lambda at=at: at * at) for at in range(count))
    assert list(in_order(tasks)) == [at * at for at in range(count)]


def test_a_single_task_is_the_callers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "4")
    assert list(in_order([get_ident])) == [get_ident()]
    names = list(in_order([lambda: current_thread().name] * 4))
    assert all(name.startswith("echoless") for name in names)


def test_a_failure_ends_it_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "2")

    def task(at: int) -> int:
        if at == 3:
            raise OSError(at)
        return at

    told: list[int] = []
    with pytest.raises(OSError, match="3"):
        told.extend(each for each in in_order((lambda at=at: task(at)) for at in range(9)))
    assert told in ([], [0, 1, 2])
