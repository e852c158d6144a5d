"""Find, preview, hide, search and go back, on a store of four memories. Runs and asserts.

python examples/first_steps.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from echoless import Memory, apply, find, open_store, plan, search, undo

MEMORIES = [
    Memory(id="a", content="The nightly backup starts at 02:15.", importance=0.9),
    Memory(id="b", content="The nightly backup starts at 2:15 am", importance=0.4),
    Memory(id="c", content="The nightly backup starts at 03:15.", importance=0.5),
    Memory(id="d", content="Anna waters the plants on Fridays."),
]


def main() -> None:
    """One story, told with asserts."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'agent.db'}"
        with open_store(url, create=True) as store, store.writing():
            store.put(MEMORIES)
        with open_store(url) as store:
            found = find(store, encoder="none")
            (group,) = found.groups
            assert group.survivor == "a"
            assert [member.id for member in group.members] == ["b"]
            print(f"keep {group.survivor}: {found.reasons['a']}")
            held = {frozenset((judged.a, judged.b)) for judged in found.held}
            assert frozenset("ac") in held, "another time is another fact"

            run = apply(store, plan(found))
            assert [hit.memory.id for hit in search(store, "backup").hits] == ["a", "c"]
            undo(store, run.id)
            assert {m.id: m for m in store.scan()} == {m.id: m for m in MEMORIES}
            print("as it was")


if __name__ == "__main__":
    main()
