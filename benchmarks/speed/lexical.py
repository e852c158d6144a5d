"""Pairs of texts of a Jaccard similarity of 0.7 and more: `python -m benchmarks.speed lexical`.

Short texts of real words from a seed; one in ten is an earlier one with some words replaced, so
that their similarities lie on both sides of the threshold. Every method gets the same list of texts
and gives pairs verified by their exact similarity; what it takes is measured from the texts on, in
a process of its own. Recall is of the pairs that a counting join of a sample of the texts with all
texts finds (`scipy`); with 10,000 texts the sample is everything.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import _SYLLABLES, _vocabulary
from benchmarks.measure import RESULTS, keep, run, versions

Pairs = NDArray[np.int64]
Texts = list[str]
Line = dict[str, Any]

THRESHOLD = 0.7
SIZES = "10000,100000"
PEERS = "datasketch,rensa,gaoya"
SHINGLES = ("word", "gram3")
NAMES = 50_000
MOST = {
    **{(method, kind): 200_000 for method in ("datasketch", "rensa") for kind in SHINGLES},
    ("gaoya", "gram3"): 200_000,
}
"""Texts up to which a peer is run: beyond, many minutes or tens of GB."""

LEFT_OUT = """\
text-dedup 0.4 installs, but not beside this project (it holds back urllib3 and rich), and gives
clusters, not verified pairs; it is not in the table. Beyond 200,000 texts datasketch and rensa, and
gaoya over 3-grams, would take many minutes or more than 20 GB, and are left out."""


def texts_of(count: int, *, seed: int = 20261122) -> Texts:
    """Texts of 12 to 28 words; every tenth repeats an earlier one with some words replaced."""
    random = np.random.default_rng(seed)
    told, counts = _vocabulary()
    weights = np.concatenate([np.array(counts, float) / sum(counts) * 0.85,
                              np.full(NAMES, 0.15 / NAMES)])  # fmt: skip
    drawn = random.integers(0, len(_SYLLABLES), (NAMES, 4))
    vocabulary = [*told, *("".join(_SYLLABLES[at] for at in each) for each in drawn.tolist())]
    lengths = random.integers(12, 29, count)
    said = random.choice(len(vocabulary), (int(lengths.sum()),), p=weights)
    rows = np.split(said, np.cumsum(lengths)[:-1])
    for at in range(9, count, 10):
        row = rows[random.integers(0, at)].copy()
        changed = random.choice(len(row), random.integers(1, 1 + len(row) // 4), replace=False)
        row[changed] = random.integers(0, len(vocabulary), len(changed))
        rows[at] = row
    return [" ".join([vocabulary[word] for word in row.tolist()]) for row in rows]


def shingled(texts: Texts, kind: str) -> list[set[str]]:
    """Sets of shingles, as plain Python makes them."""
    if kind == "word":
        return [set(text.split()) for text in texts]
    padded = (f" {text} " for text in texts)
    return [{text[at : at + 3] for at in range(len(text) - 2)} for text in padded]


def verified(candidates: Iterator[tuple[int, int]], sets: list[set[str]], least: float) -> Pairs:
    """The pairs that are similar, each once, smaller number first."""
    kept = set()
    for one, other in candidates:
        a, b = sets[one], sets[other]
        if one != other and len(a & b) >= least * len(a | b):
            kept.add((min(one, other), max(one, other)))
    return np.array(sorted(kept), dtype=np.int64).reshape(-1, 2)


def echoless(texts: Texts, kind: str, least: float) -> Pairs:
    from echoless.blocking.detector_options import Gate
    from echoless.blocking.text_join.jaccard_join import JaccardJoin
    from echoless.blocking.text_join.minhash_bands import banding_at
    from echoless.blocking.text_join.shingle_sets import gram_sets, word_sets
    from echoless.blocking.text_join.shingling import load_for

    load_for(len(texts), texts)
    sets = word_sets(texts, 1) if kind == "word" else gram_sets(texts, 3)
    banding = banding_at(sets, least, 0.999)
    assert banding is not None
    blocks = list(JaccardJoin(sets, Gate(least), banding).pairs())
    one, other = (np.concatenate([block.arrays[side] for block in blocks]) for side in (0, 1))
    return np.stack([one, other], axis=1)


def datasketch(texts: Texts, kind: str, least: float) -> Pairs:
    """128 values, the library's own choice of bands."""
    from datasketch import MinHash, MinHashLSH

    sets = shingled(texts, kind)
    index = MinHashLSH(threshold=least, num_perm=128)
    made = MinHash.bulk([[s.encode() for s in each] for each in sets], num_perm=128)
    with index.insertion_session() as session:
        for at, each in enumerate(made):
            session.insert(at, each, check_duplication=False)
    return verified(((at, b) for at, each in enumerate(made) for b in index.query(each)),
                    sets, least)  # fmt: skip


def rensa(texts: Texts, kind: str, least: float) -> Pairs:
    """128 values in 32 bands: with 16 it misses 6 % of the pairs."""
    from rensa import RMinHash, RMinHashLSH

    sets = shingled(texts, kind)
    index = RMinHashLSH(threshold=least, num_perm=128, num_bands=32)
    made = RMinHash.from_token_sets([list(each) for each in sets], 128, 42)
    index.insert_many(made)
    return verified(((at, b) for at, found in enumerate(index.query_all(made)) for b in found),
                    sets, least)  # fmt: skip


def gaoya(texts: Texts, kind: str, least: float) -> Pairs:
    """25 bands of 5; what it estimates well below the threshold is verified too."""
    from gaoya.minhash import MinHashStringIndex

    sets = shingled(texts, kind)
    analyzer, ngrams, form = ("word", (1, 1), "{}") if kind == "word" else ("char", (3, 3), " {} ")
    index = MinHashStringIndex(32, least - 0.15, 25, 5, None, analyzer, False, ngrams, "vec")
    given = [form.format(text) for text in texts]
    index.par_bulk_insert_docs(list(range(len(texts))), given)
    found = index.par_bulk_query(given)
    return verified(((at, b) for at, each in enumerate(found) for b in each), sets, least)


METHODS: dict[str, Callable[[Texts, str, float], Pairs]] = {
    "echoless": echoless,
    "datasketch": datasketch,
    "rensa": rensa,
    "gaoya": gaoya,
}


def reference(texts: Texts, kind: str, least: float) -> tuple[NDArray[np.int64], set[int]]:
    """Rows of a sample, and all their similar pairs as `one * texts + other`, by counting."""
    from scipy.sparse import csr_matrix

    count = len(texts)
    per_text = 1 if kind == "word" else 20
    wanted = count if count <= 10_000 else max(1_000, 400_000_000 // (count * per_text))
    rows = np.arange(9, count, 10)[-wanted:] if wanted < count else np.arange(count)
    numbers: dict[str, int] = {}
    members, sizes = array("i"), np.zeros(count, np.int64)
    for at, text in enumerate(texts):
        (each,) = shingled([text], kind)
        members.extend(numbers.setdefault(s, len(numbers)) for s in each)
        sizes[at] = len(each)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    held = csr_matrix((np.ones(len(members), np.int32), np.asarray(members), starts))
    found: set[int] = set()
    turned = held.T.tocsr()
    for begin in range(0, len(rows), 50):
        some = rows[begin : begin + 50]
        common = (held[some] @ turned).tocoo()
        left, right = some[common.row], common.col.astype(np.int64)
        similar = common.data >= least * (sizes[left] + sizes[right] - common.data)
        left, right = left[similar & (left != right)], right[similar & (left != right)]
        found.update((np.minimum(left, right) * count + np.maximum(left, right)).tolist())
    return rows, found


def peak(*, afresh: bool = False) -> float:
    """Peak resident memory of this process in MB of 10^6 bytes, since it was asked for `afresh`.

    Linux hands the peak of a parent down to its child, and forgets it only when told to.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used * (1 if sys.platform == "darwin" else 1024) / 1e6
    if afresh:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    line = next(each for each in status.read_text("ascii").splitlines() if "VmHWM" in each)
    return int(line.split()[1]) * 1024 / 1e6


def child(argv: Sequence[str]) -> None:
    """One method in this process: texts from a file, pairs into a file, its cost printed."""
    method, kind, least, source, target = argv
    texts = Path(source).read_text("utf-8").split("\n")
    work = METHODS[method]
    first = time.perf_counter()
    work(texts[:3_000], kind, float(least))  # imports, and kernels out of their cache
    first = time.perf_counter() - first
    before = peak(afresh=True)
    wall, cpu = time.perf_counter(), time.process_time()
    pairs = work(texts, kind, float(least))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    np.save(target, pairs)
    told = {"wall_s": wall, "cpu_s": cpu, "first_call_s": first, "data_mb": before}
    told["peak_mb"] = peak()
    print(json.dumps({key: round(value, 3) for key, value in told.items()}))


def measured(
    method: str, kind: str, least: float, source: Path, truth: tuple[NDArray[np.int64], set[int]]
) -> Line:
    """One line of the result."""
    target = source.with_suffix(".npy")
    cost = run(sys.executable, "-m", "benchmarks.speed.lexical", "--child", method, kind,
               str(least), str(source), str(target))  # fmt: skip
    pairs = np.load(target)
    count = int(source.stem)
    rows, wanted = truth
    found = set((pairs[:, 0] * count + pairs[:, 1]).tolist())
    told = json.loads(cost.output.splitlines()[-1])
    return {
        "method": method,
        "n": count,
        "dims": None,
        "shingles": kind,
        "threshold": least,
        **told,
        "pairs": len(pairs),
        "recall": round(len(found & wanted) / max(1, len(wanted)), 5),
        "recall_of": len(wanted),
        "sampled": len(rows),
    }


def main(argv: Sequence[str]) -> None:
    """Measure, print and keep."""
    if argv[:1] == ["--child"]:
        child(argv[1:])
        return
    parser = argparse.ArgumentParser(prog="benchmarks.speed lexical", description=__doc__)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--peers", default=PEERS, help="of datasketch, rensa, gaoya; '' for none")
    parser.add_argument("--shingles", default=",".join(SHINGLES))
    parser.add_argument("--json", action="store_true", help="JSON lines only")
    chosen = parser.parse_args(argv)
    lines: list[Line] = []
    for size in map(int, chosen.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{size}.txt"
            texts = texts_of(size)
            source.write_text("\n".join(texts), "utf-8")
            for kind in chosen.shingles.split(","):
                truth = reference(texts, kind, chosen.threshold)
                for method in ("echoless", *filter(None, chosen.peers.split(","))):
                    if size <= MOST.get((method, kind), size):
                        lines.append(measured(method, kind, chosen.threshold, source, truth))
                        print(json.dumps(lines[-1]), flush=True)
    if not chosen.json:
        _keep(lines, " ".join(argv))


def _keep(lines: list[Line], arguments: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    stored = "".join(json.dumps(line) + "\n" for line in lines)
    (RESULTS / "speed_lexical.jsonl").write_text(stored, "utf-8")
    ours = {_case(line): line["wall_s"] for line in lines if line["method"] == "echoless"}
    columns = "method", "n", "shingles", "wall_s", "cpu_s", "peak_mb", "pairs", "recall"
    rows = [
        f"| {' | '.join(str(line[name]) for name in columns)} "
        f"| {line['wall_s'] / ours[_case(line)]:.1f} |"
        for line in lines
    ]
    used = ", ".join(f"{n} {v}" for n, v in versions(*PEERS.split(","), "numba").items())
    head = [__doc__ or "", LEFT_OUT, "", f"Versions: {used}.", ""]
    table = [f"| {' | '.join(columns)} | times ours |", f"|{'---|' * (len(columns) + 1)}"]
    command = f"python -m benchmarks.speed lexical {arguments}"
    keep("speed_lexical", "The lexical join", command, "\n".join([*head, *table, *rows]))


def _case(line: Line) -> tuple[object, object]:
    return line["n"], line["shingles"]


if __name__ == "__main__":
    main(sys.argv[1:])
