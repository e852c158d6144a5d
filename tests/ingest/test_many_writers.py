"""Several processes at one door, some of them killed: each fact once, and the lineage whole."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from echoless import check, history, open_store, undo

WRITERS = 8
WRITER = """
import sys
from echoless import Choices, Guard, open_store, resolve
settings = resolve(Choices(encoder="none"))
with open_store(sys.argv[1]) as store, Guard(store, settings, wait=120) as guard:
    for line in sys.stdin:
        key, text = line.rstrip("\\n").split("\\t")
        guard.remember(text, key=key)
        print(key, flush=True)
"""


def facts(count: int) -> list[str]:
    """Facts that share no words worth speaking of, so that each is plainly its own."""
    source = random.Random(3)
    letters = "bdfgklmnprstvz"
    word = lambda: "".join(  # noqa: E731
        source.choice(letters) + source.choice("aeiou") for _ in range(3)
    )
    return [f"{word()} {word()} {word()} {word()} {word()}".capitalize() for _ in range(count)]


class Writer:
    """A process that remembers one line after the other, and may be killed."""

    def __init__(self, url: str, lines: Sequence[str]) -> None:
        self.lines, self.done, self._url = list(lines), 0, url
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-c", WRITER, self._url]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        feed = "\n".join(self.lines[self.done :]) + "\n"
        threading.Thread(target=self._feed, args=(feed,), daemon=True).start()

    def _feed(self, text: str) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(text)
            stream.close()
        except BrokenPipeError:
            pass

    def follow(self, kill_after: Sequence[int]) -> list[str]:
        """Read answers to the end; kill the process after so many of them, and begin again there.

        What was answered is not sent again; the line in hand may be, its answer was lost.
        """
        answers: list[str] = []
        left = list(kill_after)
        while True:
            stream = self._process.stdout
            assert stream is not None
            for line in stream:
                answers.append(line.strip())
                self.done += 1
                if left and len(answers) >= left[0]:
                    left.pop(0)
                    self._process.send_signal(signal.SIGKILL)
                    break
            stream.close()
            code = self._process.wait()
            if code == 0:
                return answers
            assert code == -signal.SIGKILL
            self._start()


@pytest.mark.parametrize(("kind", "count", "killed"), [("sqlite", 500, 12), ("jsonl", 40, 4)])
def test_eight_writers_killed_at_random_leave_each_fact_once(
    tmp_path: Path, kind: str, count: int, killed: int
) -> None:
    url = f"{kind}:///{tmp_path / 'agent.db'}"
    open_store(url, create=True).close()
    source = random.Random(8)
    told = facts(count) * 2
    source.shuffle(told)
    lines = [f"turn-{number}\t{fact}" for number, fact in enumerate(told)]
    writers = [Writer(url, lines[n::WRITERS]) for n in range(WRITERS)]
    kills: list[list[int]] = [[] for _ in writers]
    for _ in range(killed):
        kills[source.randrange(WRITERS)].append(source.randrange(1, len(told) // WRITERS))
    threads = [
        threading.Thread(target=w.follow, args=(sorted(k),))
        for w, k in zip(writers, kills, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(writer.done == len(writer.lines) for writer in writers)
    with open_store(url) as store:
        contents = Counter(memory.content for memory in store.scan())
        assert contents == Counter(set(told))
        assert check(store).sound
        runs = history(store.ledger)
        stands = (
            {"done"} if kind == "sqlite" else {"done", "nothing done"}
        )  # rolled back after a kill
        assert {run.status for run in runs} <= stands
        assert sum(run.added for run in runs) == count
        # the half that repeats is counted once each, whatever was sent again after a kill
        assert sum(store.ledger.confirmations(m.id) for m in store.scan()) == count
        undo(store, next(run.id for run in runs if run.status == "done"))
        assert store.count() == count - 1
