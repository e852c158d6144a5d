"""Long work: progress, other calls meanwhile, an end before the end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from echoless.models.encoders.vectorizer import BATCH
from tests.mcp.clients import (
    TRANSPORTS,
    Agent,
    Opened,
    bytes_of,
    write_notes,
)

ROOT = str(Path(__file__).parents[2])

# ------------------------------------------------------------------ long work


GATED = '''
import os
from concurrent.futures import CancelledError
from anyio import fail_after, from_thread, sleep_forever
from tests.conformance.encoders import WordBag

async def cancelled(begun):
    """Ends when the call this work belongs to is cancelled, as the server sees it."""
    open(begun, "x").close()  # the event loop is here: a cancellation can only come from now on
    with fail_after(60):
        await sleep_forever()

class Gated(WordBag):
    """Waits at a gate as long as there is one: a pipe to be opened, or `until cancelled`."""

    def __init__(self, folder):
        super().__init__("gated@1")
        self.folder = folder

    def encode(self, texts):
        with open(os.path.join(self.folder, "log"), "a") as log:
            log.write("encode\\n")
        until = os.path.join(self.folder, "until cancelled")
        if os.path.exists(until):
            os.unlink(until)
            try:
                from_thread.run(cancelled, os.path.join(self.folder, "begun"))
            except CancelledError:
                pass  # the work goes on to its next sign of progress, and ends there
        gate = os.path.join(self.folder, "gate")
        if os.path.exists(gate):
            with open(gate) as pipe:
                pipe.read()
        return super().encode(texts)
'''


class Gate:
    """An encoder that stops the work of a server until the test lets it go on."""

    def __init__(self, folder: Path, *, until_cancelled: bool = False) -> None:
        """Make the package of the encoder.

        Args:
            folder: Where to.
            until_cancelled: The first one to come waits until the server has seen that its call was
                cancelled; nobody has to let it go on. Else it waits for `release`.
        """
        self.folder = folder
        folder.mkdir()
        (folder / "gated.py").write_text(GATED, "utf-8")
        info = folder / "gated-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: gated\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[echoless.encoders]\ngated = gated:Gated\n")
        if until_cancelled:
            (folder / "until cancelled").touch()
        else:
            os.mkfifo(folder / "gate")

    @property
    def options(self) -> tuple[str, ...]:
        return ("--encoder", f"gated:{self.folder}", "--no-cache")

    @property
    def path(self) -> str:
        """Where a server finds the encoder, beside what this process was told."""
        return os.pathsep.join(filter(None, (str(self.folder), ROOT, os.environ.get("PYTHONPATH"))))

    @property
    def calls(self) -> int:
        return (self.folder / "log").read_text().count("encode")

    async def begun(self) -> None:
        """Returns once the work that waits to be cancelled has said that it waits."""
        with anyio.fail_after(60):
            while not (self.folder / "begun").exists():
                await anyio.sleep(0.01)

    async def release(self) -> None:
        """Let everybody go on; returns once the one at the gate has seen it."""
        gate = self.folder / "gate"
        pipe = await to_thread.run_sync(gate.open, "w")
        gate.unlink()
        pipe.close()


needs_pipes = pytest.mark.skipif(sys.platform == "win32", reason="named pipes hold the gate")


@needs_pipes
@TRANSPORTS
def test_long_work_tells_how_far_it_is_and_holds_nobody_up(
    opened: Opened, notes: Path, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")

    async def story() -> None:
        told: list[tuple[float, str]] = []
        at_the_gate = anyio.Event()

        async def progress(done: float, _total: float | None, message: str | None) -> None:
            told.append((done, str(message)))
            if "semantic" in str(message):
                at_the_gate.set()

        async with opened(notes, *gate.options, PYTHONPATH=gate.path) as client:
            agent = Agent(client)
            await agent.learn()

            async def long() -> None:
                result = await client.call_tool("memory_audit", {}, progress_callback=progress)
                assert agent.checked("memory_audit", {}, result)["counts"]

            async with anyio.create_task_group() as group:
                group.start_soon(long)
                await at_the_gate.wait()
                assert (await agent.call("memory_search", query="toner"))["hits"]
                assert "memory_audit" not in agent.called
                await gate.release()
            assert "memory_audit" in agent.called
        values = [done for done, _ in told]
        assert values == sorted(set(values)), "progress only grows"
        assert any(message.startswith("judging") for _, message in told)

    anyio.run(story)


@TRANSPORTS
def test_a_cancelled_call_ends_and_writes_nothing(
    opened: Opened, place: Path, tmp_path: Path
) -> None:
    """The call ends after its work has begun to wait, and the work once the server saw the end."""
    words = [f"{word}{n}" for n in range(BATCH + 1) for word in ("lamp", "door", "moss")]
    texts = (" ".join(words[at : at + 3]) for at in range(0, len(words), 3))
    many = tuple((f"m-{n}", text, "work") for n, text in enumerate(texts))
    store = write_notes(place / "many.jsonl", many)
    gate = Gate(tmp_path / "gate", until_cancelled=True)
    before = bytes_of(place)

    async def story() -> None:
        async with opened(store, *gate.options, PYTHONPATH=gate.path) as client:
            agent = Agent(client)
            await agent.learn()

            async def long() -> None:
                await client.call_tool("memory_deduplicate", {})
                raise AssertionError("it was cancelled")

            async with anyio.create_task_group() as group:
                group.start_soon(long)
                await gate.begun()
                group.cancel_scope.cancel()
            assert (await agent.call("memory_deduplicate"))["total_groups"] == 0
            assert (await agent.call("memory_history"))["runs"] == []

    anyio.run(story)
    assert bytes_of(place) == before
    assert gate.calls == 3, "one batch of the call that was cancelled, two of the other"
