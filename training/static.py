"""Makes the table of the encoder `fast`: one vector for each piece, learned from a teacher.

    python -m training.static --out src/echoless/models/encoders/static_table

The teacher is the multilingual Universal Sentence Encoder v3 (Apache-2.0): one vector
for a text. Here the vector of a text is the sum of the vectors of its pieces. The table begins with
the vector that the teacher gives each piece alone, as model2vec does (MinishLab, MIT), brought to
fewer numbers by principal components. Then it is fitted by least squares so that the sum over a
text comes close to what the teacher gives the whole text; pieces that no text has stay what they
were. The texts are those of `data/contrast` (CC0, written for echoless, in seven languages), so the
table has no foreign licence. 10 minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from echoless.models.tokenizer import Tokenizer
from training.examples import lines
from training.teacher import teacher_vectors

Rows = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
PIECES: Final = ROOT / "src/echoless/matching/pair_model/weights/pieces.json"


@dataclass(frozen=True, slots=True)
class Texts:
    """Pieces of texts, one after the other.

    Attributes:
        pieces: Numbers of all pieces.
        starts: Where each text begins.
        lengths: Pieces of each text, at least 1.
    """

    pieces: Whole
    starts: Whole
    lengths: Whole


def main() -> None:
    """Makes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--bits", type=int, choices=(4, 8), default=4)
    parser.add_argument("--strength", type=float, default=5.0, help="of the pull to the beginning")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="folder for the teacher's vectors")
    chosen = parser.parse_args()
    texts = list(dict.fromkeys(contrast_texts(HERE / "data/contrast")))
    listed = json.loads(PIECES.read_text("utf-8"))
    pieces = [(str(piece), float(score)) for piece, score in listed]
    goal = _vectors(texts, chosen.cache, "texts")
    alone = _vectors([_spoken(piece) for piece, _ in pieces], chosen.cache, "pieces")
    basis = components(goal, chosen.dimensions)
    table = beginning(alone @ basis, pieces)
    table = fitted(table, cut(Tokenizer(pieces), texts), goal @ basis,
                   strength=chosen.strength, rounds=chosen.rounds)  # fmt: skip
    write(table, chosen.out, chosen.bits)


def contrast_texts(folder: Path) -> Iterator[str]:
    """Yields all texts of the contrast sets, file by file."""
    for path in sorted(folder.glob("*.jsonl")):
        for item in lines(path):
            yield from _strings(item)


def _strings(item: dict[str, Any]) -> Iterator[str]:
    for name in ("base", "same", "less", "more", "conflict", "sibling", "related"):
        value = item.get(name, [])
        for each in [value] if isinstance(value, str) else value:
            text = each["t"] if isinstance(each, dict) else each
            if text.strip():
                yield text


def _spoken(piece: str) -> str:
    """Returns a piece as a text; what is none becomes a full stop."""
    return piece.replace("\u2581", " ").strip() or "."


def _vectors(texts: Sequence[str], cache: Path | None, name: str) -> Rows:
    path = None if cache is None else cache / f"{name}-{len(texts)}.npy"
    if path is not None and path.is_file():
        return np.asarray(np.load(path), dtype=np.float32)
    rows = teacher_vectors(texts)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, rows)
    return rows


def components(rows: Rows, count: int) -> Rows:
    """Returns the directions of most variance around 0, shape (dimensions, count)."""
    values, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows)
    chosen = vectors[:, np.argsort(-values)[:count]]
    signs = np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(count)])
    return np.asarray(chosen * signs, dtype=np.float32)


def beginning(rows: Rows, pieces: Sequence[tuple[str, float]]) -> Rows:
    """Returns vectors of pieces, without what all share, weighted by how rare they are.

    After Arora and others, A Simple but Tough-to-Beat Baseline, 2017.
    """
    chance = np.exp([score for _, score in pieces])
    weight = 1e-3 / (1e-3 + chance)
    weight[:4] = 0  # pieces that stand for no text
    return np.asarray((rows - rows.mean(axis=0)) * weight[:, None], dtype=np.float32)


def cut(tokenizer: Tokenizer, texts: Sequence[str]) -> Texts:
    """Returns the pieces of texts."""
    cuts = [tokenizer.encode(text) or (3,) for text in texts]
    lengths = np.array([len(each) for each in cuts])
    pieces = np.concatenate([np.array(each) for each in cuts])
    return Texts(pieces, np.cumsum(lengths) - lengths, lengths)


def fitted(table: Rows, texts: Texts, goal: Rows, *, strength: float, rounds: int) -> Rows:
    """Returns the table whose sums come closest to the goals in direction, near where it began.

    Each round fits the length of a goal to that of the sum, as only directions count.
    """
    seen, pieces = np.unique(texts.pieces, return_inverse=True)
    root = np.sqrt(texts.lengths.astype(np.float32))[:, None]
    order = np.argsort(pieces, kind="stable")
    places = np.searchsorted(pieces[order], np.arange(len(seen)))
    owners = np.repeat(np.arange(len(texts.lengths)), texts.lengths)[order]

    def sums(of: Rows) -> Rows:
        added = np.add.reduceat(of[pieces], texts.starts, axis=0)
        return np.asarray(added / root, dtype=np.float32)

    def back(of: Rows) -> Rows:
        return np.asarray(np.add.reduceat((of / root)[owners], places, axis=0), dtype=np.float32)

    begun = made = table[seen]
    for _ in range(rounds):
        now = sums(made)
        length = np.einsum("ij,ij->i", now, goal)[:, None]
        rest = goal * np.maximum(length, 0.1) - now
        made = made + solved(
            lambda x: back(sums(x)) + strength * x, back(rest) - strength * (made - begun)
        )
        print(f"mean cosine {_cosine(sums(made), goal):.4f}", flush=True)
    whole = table.copy()
    whole[seen] = made
    return whole


def solved(apply: Any, wanted: Rows, steps: int = 8) -> Rows:
    """Returns x so that apply(x) is close to what is wanted (conjugate gradients, each column)."""
    made, rest = np.zeros_like(wanted), wanted.copy()
    along, size = rest.copy(), np.einsum("ij,ij->j", rest, rest)
    for _ in range(steps):
        image = apply(along)
        step = size / np.maximum(np.einsum("ij,ij->j", along, image), 1e-20)
        made += step * along
        rest -= step * image
        following = np.einsum("ij,ij->j", rest, rest)
        along = rest + following / np.maximum(size, 1e-20) * along
        size = following
    return made


def _cosine(one: Rows, other: Rows) -> float:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(np.mean(np.einsum("ij,ij->i", one, other) / np.maximum(lengths, 1e-9)))


def write(table: Rows, folder: Path, bits: int) -> None:
    """Writes the table in whole numbers, a scale for each piece, and a manifest with digests."""
    most = 2 ** (bits - 1) - 1
    scale = np.maximum(np.abs(table).max(axis=1) / most, 1e-12).astype(np.float16)
    steps = np.maximum(scale.astype(np.float32), 1e-7)[:, None]
    numbers = np.clip(np.rint(table / steps), -most, most).astype(np.int8)
    if bits == 4:  # two numbers a byte, each from 1 to 15
        high, low = numbers[:, ::2] + 8, numbers[:, 1::2] + 8
        packed = (high.astype(np.uint8) << 4) | low.astype(np.uint8)
    else:
        packed = numbers.view(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "table.npy", packed)
    np.save(folder / "scales.npy", scale)
    files = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("scales.npy", "table.npy")
    }
    files["pieces.json"] = hashlib.sha256(PIECES.read_bytes()).hexdigest()
    manifest = {"bits": bits, "dimensions": table.shape[1], "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
