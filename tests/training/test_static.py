"""How the table of the encoder `fast` is made, on a small vocabulary."""

from pathlib import Path

import numpy as np

from echoless.models.tokenizer import Tokenizer
from training import static

PIECES = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
PIECES += [(f"\u2581word{number}", -2.0 - number) for number in range(12)]


def test_fitting_brings_sums_closer_and_leaves_unseen_pieces() -> None:
    source = np.random.default_rng(4)
    told = [" ".join(f"word{n}" for n in source.integers(0, 10, 6)) for _ in range(60)]
    texts = static.cut(Tokenizer(PIECES), told)
    table = source.standard_normal((16, 8)).astype(np.float32)
    hidden = source.standard_normal((16, 8)).astype(np.float32)
    goal = np.add.reduceat(hidden[texts.pieces], texts.starts, axis=0)
    goal /= np.linalg.norm(goal, axis=1, keepdims=True)
    made = static.fitted(table, texts, goal, strength=0.01, rounds=2)

    def cosine(of: static.Rows) -> float:
        sums = np.add.reduceat(of[texts.pieces], texts.starts, axis=0)
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        return float(np.mean(np.einsum("ij,ij->i", sums, goal)))

    assert cosine(made) > 0.9
    assert cosine(table) < 0.5
    assert np.array_equal(made[14:], table[14:])


def test_the_same_table_is_written_as_the_same_files_close_to_it(tmp_path: Path) -> None:
    table = np.random.default_rng(5).standard_normal((16, 8)).astype(np.float32)
    for name in ("one", "other"):
        static.write(table, tmp_path / name, bits=4)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()
    halves = np.load(tmp_path / "one" / "table.npy")
    scales = np.load(tmp_path / "one" / "scales.npy").astype(np.float32)
    read = np.stack([halves >> 4, halves & 15], axis=2).reshape(table.shape) - 8.0
    assert np.abs(read * scales[:, None] - table).max() < np.abs(table).max() / 7
