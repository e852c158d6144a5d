"""Reads notes of agents from repositories, draws pairs to label, and keeps the labels.

```
python -m training.notes REPOS.jsonl --git 'CLONES/{repo}' --out PAIRS.jsonl [--pairs 3000]
python -m training.notes REPOS.jsonl --out LABELS.jsonl --digests LABELLED.jsonl
python -m training.notes REPOS.jsonl --git 'CLONES/{repo}' --out PAIRS.jsonl --labels LABELS.jsonl
```

REPOS.jsonl names a repository a line: `repo`, `licence`, `commit`, `files`. Texts of others stay
out of this repository. What is kept here are labels with the digests of both texts, which the
second command makes; the third puts them on the notes when these are read again. It reads more
finely than the first: also strings of JSON and Python, what stands in quotes, lines and sentences.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from training.teacher import teacher_vectors

WORDS: Final = (3, 80)
"""Least and most words of a note; of scripts without spaces, three characters are a word."""
BANDS: Final = (
    (0.45, 0.6, 0.15),
    (0.6, 0.7, 0.25),
    (0.7, 0.8, 0.3),
    (0.8, 0.9, 0.2),
    (0.9, 1.01, 0.1),
)
"""Cosine from, below, and the share of pairs drawn from there."""
NEIGHBOURS: Final = 6
PER_REPOSITORY: Final = 0.04
"""Share of the pairs that one repository may give at most."""

BULLET: Final = re.compile(r"^\s*(?:[-*+\u2022]|\d+[.)])\s+(.*)$")
SKIPPED: Final = re.compile(r"^\s*(?:#{1,6}\s|\||```|---|<!--|!\[|</?\w+>)")
SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")
QUOTED: Final = re.compile(r"""\"((?:[^"\\]|\\.)+)\"|'((?:[^'\\]|\\.|'')+)'""")


def blocks(text: str) -> Iterator[str]:
    """Yields the bullets and paragraphs of Markdown, without code, tables and headings."""
    fenced, held = False, list[str]()
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        bullet = BULLET.match(line)
        ends = fenced or not line.strip() or bullet or SKIPPED.match(line)
        if ends and held:
            yield " ".join(held)
            held = []
        if fenced or not line.strip() or SKIPPED.match(line):
            continue
        held.append(bullet[1].strip() if bullet else line.strip())
    if held:
        yield " ".join(held)


def documents(text: str) -> Iterator[Any]:
    """Yields what a text of JSON holds: one document in all, or one a line."""
    try:
        whole = json.loads(text)
    except ValueError:
        for line in text.splitlines():
            with suppress(ValueError):
                yield json.loads(line)
    else:
        yield whole


def observations(text: str) -> Iterator[str]:
    """Yields the observations of an MCP knowledge graph, one JSON object a line or one in all."""
    for data in documents(text):
        entities = data.get("entities", [data]) if isinstance(data, dict) else data
        for entity in entities if isinstance(entities, list) else []:
            entries = entity.get("observations", []) if isinstance(entity, dict) else []
            yield from (item for item in entries if isinstance(item, str))


def passages(text: str, name: str) -> Iterator[str]:
    """Yields the notes of a file as they are drawn: observations of JSON, else blocks."""
    return (observations if name.endswith((".json", ".jsonl")) else blocks)(text)


def values(data: object) -> Iterator[str]:
    """Yields each string in a JSON document, without keys."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from values(value)


def strings(text: str, name: str) -> Iterator[str]:
    """Yields the strings of a JSON or Python file, none of another one."""
    if name.endswith((".json", ".jsonl")):
        yield from values(list(documents(text)))
    elif name.endswith(".py"):
        with suppress(SyntaxError, ValueError):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def pieces(text: str, name: str) -> Iterator[str]:
    """Yields a file's notes, and its strings, quoted words, lines and sentences."""
    yield from passages(text, name)
    for part in [text, *strings(text, name)]:
        for line in part.splitlines():
            bullet = BULLET.match(line)
            yield (bullet[1] if bullet else line).strip()
            yield from (m[1] or m[2].replace("''", "'") for m in QUOTED.finditer(line))
        for block in blocks(part):
            yield block
            yield from SENTENCE.split(block)


def words(text: str) -> int:
    """Returns how many words a text has; three characters of a script without spaces are one."""
    wide = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", text))
    return len(re.findall(r"[^\W\u3040-\u30ff\u3400-\u9fff]+", text)) + wide // 3


def notes_of(
    repository: dict[str, Any], reader: Callable[[str, str], Iterator[str]] = passages
) -> Iterator[tuple[str, str]]:
    """Yields each different note of a repository with its file."""
    seen: set[str] = set()
    for name in repository["files"]:
        shown = subprocess.run(
            ["git", "--git-dir", repository["git"], "show", f"{repository['commit']}:{name}"],
            capture_output=True,
            check=False,
        )
        text = shown.stdout[:2_000_000].decode("utf-8", errors="replace")
        for note in reader(text, name):
            if WORDS[0] <= words(note) <= WORDS[1] and note not in seen:
                seen.add(note)
                yield note, name


def close_pairs(vectors: np.ndarray, draw: random.Random) -> list[tuple[int, int, float]]:
    """Returns each note with its nearest ones and one drawn at random, with their cosine."""
    closeness: dict[tuple[int, int], float] = {}
    for start in range(0, len(vectors), 1024):
        cosines = vectors[start : start + 1024] @ vectors.T
        for row in range(len(cosines)):
            cosines[row, start + row] = -1.0
            near = np.argpartition(-cosines[row], min(NEIGHBOURS, len(vectors) - 1))[:NEIGHBOURS]
            for other in [*near.tolist(), draw.randrange(len(vectors))]:
                if other != start + row:
                    key = min(start + row, other), max(start + row, other)
                    closeness[key] = float(cosines[row, other])
    return [(a, b, cosine) for (a, b), cosine in closeness.items()]


def digest(text: str) -> str:
    """Returns the first 16 digits of a text's SHA-256."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def candidates(repositories: Sequence[dict[str, Any]], draw: random.Random) -> Iterator[dict]:
    """Yields close pairs of notes, each within its repository, with their cosine."""
    for repository in repositories:
        notes = list(islice(notes_of(repository), 3000))
        if len(notes) < 20:
            continue
        vectors = teacher_vectors([note for note, _ in notes])
        for a, b, cosine in close_pairs(vectors, draw):
            first, second = (a, b) if draw.random() < 0.5 else (b, a)
            yield {
                "repo": repository["repo"],
                "licence": repository["licence"],
                "a": notes[first][0],
                "b": notes[second][0],
                "cosine": round(cosine, 3),
            }


def drawn(proposed: Iterable[dict], count: int, draw: random.Random) -> list[dict]:
    """Returns about `count` pairs: by bands of closeness, repositories in turn."""
    pairs = list(proposed)
    draw.shuffle(pairs)
    chosen: list[dict] = []
    taken: dict[str, int] = {}
    for low, high, share in BANDS:
        by_repo: dict[str, list[dict]] = {}
        for pair in pairs:
            if low <= pair["cosine"] < high:
                by_repo.setdefault(pair["repo"], []).append(pair)
        room = round(count * share)
        while room > 0 and by_repo:
            for repo in list(by_repo):
                if room <= 0:
                    break
                if not by_repo[repo] or taken.get(repo, 0) >= PER_REPOSITORY * count:
                    del by_repo[repo]
                    continue
                chosen.append(by_repo[repo].pop())
                taken[repo] = taken.get(repo, 0) + 1
                room -= 1
    draw.shuffle(chosen)
    return [{"id": f"n{number:05d}", **pair} for number, pair in enumerate(chosen)]


LABELS: Final = {
    "D": {"class": "duplicate"},
    "Sa": {"class": "subsumes", "superset": "a"},
    "Sb": {"class": "subsumes", "superset": "b"},
    "V": {"class": "contradiction"},
    "C": {"class": "sibling"},
    "R": {"class": "related"},
    "U": {"class": "distinct"},
}


def rejoined(repositories: Sequence[dict[str, Any]], labels: Path) -> Iterator[dict]:
    """Yields the labelled pairs whose two notes are found again, with their texts."""
    texts = {
        digest(note): note
        for repository in repositories
        for note, _ in notes_of(repository, pieces)
    }
    for line in labels.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["a"] in texts and row["b"] in texts:
            said = LABELS[row["label"]]
            yield {**row, "a": texts[row["a"]], "b": texts[row["b"]], **said}


def digested(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a labelled pair with digests in place of its texts."""
    fields = {name: row[name] for name in ("id", "repo", "label", "hard") if name in row}
    return {**fields, "a": digest(row["a"]), "b": digest(row["b"])}


def main() -> None:
    """Draws pairs without labels, or puts kept labels on the notes again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument(
        "--git",
        default="{repo}",
        help="git folder of a repository; {repo} stands for its name, / as +",
    )
    parser.add_argument("--labels", type=Path, help="put these labels on the notes instead")
    parser.add_argument("--digests", type=Path, help="write these labelled pairs without texts")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    listed = [json.loads(line) for line in chosen.repositories.open(encoding="utf-8")]
    for repository in listed:
        repository["git"] = chosen.git.format(repo=repository["repo"].replace("/", "+"))
    draw = random.Random(chosen.seed)
    if chosen.digests:
        pairs = [digested(json.loads(line)) for line in chosen.digests.open(encoding="utf-8")]
    elif chosen.labels:
        pairs = list(rejoined(listed, chosen.labels))
    else:
        pairs = drawn(candidates(listed, draw), chosen.pairs, draw)
    with chosen.out.open("w", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
    print(f"{len(pairs):,} pairs of {len({pair['repo'] for pair in pairs})} repositories")


if __name__ == "__main__":
    main()
