"""mem0's own road, `Memory.add`, with a model in place of the LLM that repeats what it is told.

mem0 has no clean-up of a store; it keeps duplicates out when it adds. A language model, which is
not to be had offline, words each message anew and may leave out what the ten nearest memories say
already; here each text is taken as it is. What then remains of its deduplication is a digest of the
text among those ten. Vectors are of MiniLM, the store is Qdrant in a folder.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.speed.peer_tools.job import Behind, Job, TooLongError, job
from benchmarks.speed.peer_tools.minilm import MiniLM

NAME: Final = "mem0 {version}"
PACKAGES: Final = ("mem0ai", "qdrant-client", "onnxruntime")
MODEL: Final = "all-MiniLM-L6-v2, int8; no LLM"
EVERY: Final = 100


class Embedder:
    """The part of mem0 that makes vectors."""

    def __init__(self, config: Any = None) -> None:
        self.config = config
        self._model = MiniLM()

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        """One text."""
        return [float(value) for value in self._model.encode([text])[0]]

    def embed_batch(self, texts: list[str], _action: str = "add") -> list[list[float]]:
        """Several."""
        return [self.embed(text) for text in texts]


class Repeating:
    """The part of mem0 that asks an LLM; the text under way is the one memory it extracts."""

    text = ""

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def generate_response(self, *_: object, **__: object) -> str:
        """An answer in the form mem0 asks for."""
        return json.dumps({"memory": [{"text": Repeating.text}]})


def main() -> None:
    run = job()
    os.environ |= {"MEM0_TELEMETRY": "False"}
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"MEM0_DIR": folder, "HOME": folder}
        logging.disable(logging.ERROR)
        try:
            behind = _added(run, Path(folder))
        except TooLongError as problem:
            run.cut(run.account(NAME, *PACKAGES, model=MODEL), problem)
            return
        run.part("add")
        run.end(run.account(NAME, *PACKAGES, model=MODEL), {run.options.threshold: behind})


def _added(run: Job, folder: Path) -> Behind:
    factory = import_module("mem0.utils.factory")
    here = f"{__spec__.name}" if __spec__ else __name__
    factory.EmbedderFactory.provider_to_class["huggingface"] = f"{here}.Embedder"
    config = import_module("mem0.configs.llms.base").BaseLlmConfig
    factory.LlmFactory.provider_to_class["openai"] = (f"{here}.Repeating", config)
    mem0 = import_module("mem0").Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder / "qdrant"), "embedding_model_dims": 384},
            },
            "embedder": {"provider": "huggingface", "config": {}},
            "llm": {"provider": "openai", "config": {}},
            "history_db_path": str(folder / "history.db"),
        }
    )
    first: dict[str, str] = {}
    behind: dict[str, str] = {}
    patience = run.patience(quadratic=True)
    repeating = import_module(here).Repeating
    for number, each in enumerate(run.memories, start=1):
        repeating.text = each["content"]
        if mem0.add(each["content"], user_id="one")["results"]:
            first[each["content"]] = each["id"]
        else:
            behind[each["id"]] = first[each["content"]]
        if number % EVERY == 0:
            patience.check(number)
    return behind


if __name__ == "__main__":
    main()
