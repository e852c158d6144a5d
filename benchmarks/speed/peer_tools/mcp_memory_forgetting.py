"""The clean-up of mcp-memory-service's consolidation: its scores and its `forgetting` engine.

A consolidation of the service hands this engine the 500 oldest memories that are older than a year,
once a run; here it gets all, fresh ones, so that only its rule for duplicates has a say: equal
texts, one text within the other, or more than .8 of the words in common. The better scored, then
the older one stays; what is deleted is written to a file. Clusters are summed up beside
their members, which stay, so that part is left out.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from importlib import import_module
from typing import Any, Final

from benchmarks.speed.peer_tools.job import Behind, Job, TooLongError, job

NAME: Final = "mcp-memory-service {version} consolidation"
PACKAGES: Final = ("mcp-memory-service",)
MODEL: Final = "none; its consolidation"
PACKAGE: Final = "mcp_memory_service"
SAMPLES: Final = (500, 1_000, 2_000)
"""Run first where there are more than twice as many as the last: a memory costs what there are."""


def main() -> None:
    run = job()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        base = import_module(f"{PACKAGE}.consolidation.base")
        config = base.ConsolidationConfig(archive_location=folder)
        decay = import_module(f"{PACKAGE}.consolidation.decay").ExponentialDecayCalculator(config)
        module = import_module(f"{PACKAGE}.consolidation.forgetting")
        engine = module.ControlledForgettingEngine(config)
        memories = _memories(run)
        try:
            if len(memories) > 2 * SAMPLES[-1]:
                _sampled(run, decay, engine, memories)
        except TooLongError as problem:
            run.cut(run.account(NAME, *PACKAGES, model=MODEL), problem)
            return
        deleted = asyncio.run(_forgotten(decay, engine, memories))
        run.part("consolidate")
        account = run.account(NAME, *PACKAGES, model=MODEL)
    run.end(account, {run.options.threshold: _behind(run, engine, memories, deleted)})


def _memories(run: Job) -> list[Any]:
    """As the service holds them, a second apart."""
    memory = import_module(f"{PACKAGE}.models.memory").Memory
    digest = import_module(f"{PACKAGE}.utils.hashing").generate_content_hash
    first = time.time() - len(run.memories)
    return [
        memory(content=text, content_hash=digest(text), created_at=first + n, updated_at=first + n)
        for n, text in enumerate(run.texts)
    ]


def _sampled(run: Job, decay: Any, engine: Any, memories: list[Any]) -> None:
    """Runs the engine on the first memories.

    Raises:
        TooLongError: All of them would take too long.
    """
    spent = [0.0]
    patience = run.patience(quadratic=True, clock=lambda: spent[0])
    for size in SAMPLES:
        begun = time.perf_counter()
        asyncio.run(_forgotten(decay, engine, memories[:size]))
        spent[0] = time.perf_counter() - begun
        patience.note(size)
    patience.decide()


async def _forgotten(decay: Any, engine: Any, memories: list[Any]) -> set[str]:
    scores = await decay.process(memories)
    results = await engine.process(memories, scores)
    return {each.memory_hash for each in results if each.action_taken == "deleted"}


def _behind(run: Job, engine: Any, memories: list[Any], deleted: set[str]) -> Behind:
    """Behind what stays and is near enough, or behind an earlier one that is deleted, too.

    Texts with one digest are one memory to the service.
    """
    near = engine._is_near_duplicate_of  # noqa: SLF001  (it says which, the result only that)
    ids = [each["id"] for each in run.memories]
    first: dict[str, int] = {}
    behind: dict[str, str] = {}
    for place, memory in enumerate(memories):
        earlier = first.setdefault(memory.content_hash, place)
        if earlier != place:
            behind[ids[place]] = ids[earlier]
        elif memory.content_hash in deleted:
            alike = [
                other
                for other, each in enumerate(memories)
                if each.content_hash != memory.content_hash and near(memory, each)
            ]
            stays = [other for other in alike if memories[other].content_hash not in deleted]
            if chosen := stays or [other for other in alike if other < place]:
                behind[ids[place]] = ids[min(chosen)]
    return behind


if __name__ == "__main__":
    main()
