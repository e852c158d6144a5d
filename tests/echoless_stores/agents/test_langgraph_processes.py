"""Several processes, and a killed one, on one SQLite store of LangGraph behind the guard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from langgraph.store.sqlite import SqliteStore

from echoless import check
from echoless.core.settings import Choices, resolve
from echoless_stores.agents.langgraph import GuardedStore

FACTS = [f"The service {name} listens on port {8000 + at}." for at, name in enumerate("abcdefghij")]

PROGRAM = """
import sys
from langgraph.store.sqlite import SqliteStore
from echoless_stores.agents.langgraph import GuardedStore
from echoless.core.settings import Choices, resolve

name, facts = sys.argv[1], sys.argv[2:]
with SqliteStore.from_conn_string("store.db") as inner:
    settings = resolve(Choices(encoder="none"))
    with GuardedStore(inner, lineage="lineage", settings=settings, recheck=0) as store:
        for at, fact in enumerate(facts):
            store.put(("facts",), f"{name}-{at}", {"text": fact, "by": name})
            print(at, flush=True)
"""


def start(folder: Path, name: str, facts: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, name, *facts],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "ECHOLESS_CACHE_DIR": str(folder / "cache")},
    )


def finished(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=60)
    return process.returncode


def test_processes_store_each_fact_once_though_one_is_killed(tmp_path: Path) -> None:
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as inner:
        inner.setup()
    killed = start(tmp_path, "killed", FACTS)
    others = [start(tmp_path, "up", FACTS), start(tmp_path, "down", FACTS[::-1])]
    assert killed.stdout is not None
    for _ in range(3):
        killed.stdout.readline()
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert [finished(each) for each in others] == [0, 0]
    assert finished(start(tmp_path, "killed", FACTS)) == 0
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as inner:
        assert sorted(item.value["text"] for item in inner.search((), limit=100)) == FACTS
        settings = resolve(Choices(encoder="none"))
        with GuardedStore(inner, lineage=tmp_path / "lineage", settings=settings) as store:
            assert check(store.memories).sound
            for name, facts in (("up", FACTS), ("down", FACTS[::-1]), ("killed", FACTS)):
                for at, fact in enumerate(facts):
                    found = store.get(("facts",), f"{name}-{at}")
                    assert found is not None
                    assert found.value == {"text": fact, "by": name}
