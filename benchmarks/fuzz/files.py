"""Files beside a store: plans, caches, settings, maps, pairs, imports, what is piped in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.fuzz.databases import damaged_database
from benchmarks.fuzz.model import Door, Target
from benchmarks.fuzz.mutation import (
    damaged_bytes,
    damaged_json,
    damaged_toml,
    json_or_bytes,
    lines_of,
    some,
)
from benchmarks.fuzz.seeds import MEMORIES, line, run, used, write_notes
from echoless.core.settings import Choices
from echoless.execution.plan import plan_from_json
from echoless.ingest import index_cache as keeping
from echoless.workflows.audit import answer_cache as audited

# ------------------------------------------------------------------ plans


def _make_plan(_place: Path) -> None:
    write_notes()
    run("remember", "m.jsonl", "The staging server has 16 GB.", "--encoder", "none")
    run("dedup", "m.jsonl", "--set", "semantic=no", "--plan", "hide.json")
    run("dedup", "m.jsonl", "--set", "semantic=no", "--action", "merge", "--plan", "merge.json")


def _mutate_plan(rng: Random, files: dict[str, bytes]) -> None:
    """Half of them carry the right digest of what they say, as a hand that means harm would."""
    for name in ("hide.json", "merge.json"):
        data = json_or_bytes(rng, files[name])
        files[name] = sealed(data) if rng.random() < 0.6 else data


def sealed(data: bytes) -> bytes:
    """Gives a plan the right digest of what it says, if it says anything."""
    try:
        content = json.loads(data)
        content["digest"] = plan_from_json(content).digest
        return json.dumps(content).encode()
    except Exception:  # noqa: BLE001 - whatever it is, it cannot be sealed
        return data


_PLAN_DOORS: Final = (
    Door("apply", ("apply", "{store}", "hide.json"), "undone"),
    Door("apply as JSON", ("apply", "{store}", "merge.json", "--json"), "writes", partial=True),
    Door("apply a merge", ("apply", "{store}", "merge.json"), "undone"),
)


# ------------------------------------------------------------------ caches


def _write_more_notes() -> None:
    lines = [line(number, *memory) for number, memory in enumerate(MEMORIES)]
    lines += [
        line(10 + n % 15, f"n-{n}", f"Server number {n} has {n % 9 + 1} disks in rack {n % 4}.", "")
        for n in range(20)
    ]
    Path("m.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


_TEXTS: Final = ("Servers with disks", "Server 3 has 5 disks.", "The printer prints again.")


def _make_caches(_place: Path) -> None:
    _write_more_notes()
    run("remember", "m.jsonl", "The staging server has 16 GB.")
    audited.KEPT_FROM, keeping.WORTH_KEEPING = 1, 1  # type: ignore[misc]  # else for large stores
    for _ in range(2):
        run("audit", "m.jsonl")
    for text in _TEXTS:  # from now on their vectors are known, and the model is not loaded for them
        run("search", "m.jsonl", text, "--mode", "hybrid")
    run("remember", "m.jsonl", "The testing server has 8 GB.")


def _mutate_caches(rng: Random, files: dict[str, bytes]) -> None:
    names = sorted(name for name in files if name.startswith("cache/"))
    for _ in range(rng.choice((1, 1, 2))):
        name = some(rng, names)
        files[name] = _damaged_cache(rng, name, files[name])


def _damaged_cache(rng: Random, name: str, data: bytes) -> bytes:
    if name.endswith(".npy"):
        return _array(rng, data) if rng.random() < 0.5 else damaged_bytes(rng, data)
    if name.endswith(".json"):
        return json_or_bytes(rng, data)
    return damaged_database(rng, data) if data[:6] == b"SQLite" else damaged_bytes(rng, data)


def _array(rng: Random, data: bytes) -> bytes:
    """Another array: of another shape or type, with values out of range."""
    try:
        old = np.load(BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError):
        return b""
    flat = old.reshape(-1)
    new: tuple[Callable[[], NDArray[Any]], ...] = (
        lambda: old[:0],
        lambda: old[: len(old) // 2] if old.ndim else old,
        lambda: -flat.astype(np.int64) - 1,
        lambda: np.full(old.shape, -1, np.int64),
        lambda: np.full(old.shape, 2**31 - 1, np.int64).astype(old.dtype),
        lambda: old.astype(np.float64) * np.nan,
        lambda: old.astype(np.complex64),
        lambda: old.astype("U8"),
        lambda: flat.reshape(-1, 1),
        lambda: np.array(5),
        lambda: np.concatenate([flat, flat]),
        lambda: np.ascontiguousarray(flat[::-1]),
        lambda: np.zeros((0, 3)),
    )
    buffer = BytesIO()
    np.save(buffer, some(rng, new)(), allow_pickle=False)
    return buffer.getvalue()


_CACHE_DOORS: Final = (
    Door("audit", ("audit", "{store}")),
    Door("audit as JSON", ("audit", "{store}", "--json")),
    Door("dedup without --apply", ("dedup", "{store}")),
    Door("remember --dry-run", ("remember", "{store}", _TEXTS[1], "--dry-run")),
    Door("remember", ("remember", "{store}", _TEXTS[2]), "undone"),
    Door("remember what is known", ("remember", "{store}", MEMORIES[4][1]), "undone"),
    Door("hide", ("dedup", "{store}", "--apply"), "undone"),
)


# ------------------------------------------------------------------ settings and maps


def _make_config(_place: Path) -> None:
    write_notes()
    text = 'profile = "safe"\nencoder = "none"\nthreshold = ["lexical=0.7"]\nlimit = 8\n'
    Path("echoless.toml").write_text(text + 'survivor = "newest"\nworkers = 1\n', "utf-8")


_KEYS: Final = tuple(field.name for field in fields(Choices))


def _mutate_config(rng: Random, files: dict[str, bytes]) -> None:
    files["echoless.toml"] = damaged_toml(_KEYS)(rng, files["echoless.toml"])


_CONFIG_DOORS: Final = (
    Door("audit", ("audit", "{store}")),
    Door("search", ("search", "{store}", "port")),
    Door("review", ("review", "{store}", "--list")),
    Door("explain", ("explain", "The demo is at 2 pm.", "The demo starts at 14:00.")),
    Door("remember", ("remember", "{store}", "A new fact about 7 cats."), "undone"),
    Door("hide", ("dedup", "{store}", "--apply"), "undone"),
)


def _make_map(_place: Path) -> None:
    write_notes()
    Path("map.toml").write_text('[map]\nnamespace = "project"\ncreated_at = "when"\n', "utf-8")
    Path("map.json").write_text('{"namespace": "project", "tags": "labels"}\n', "utf-8")


def _mutate_map(rng: Random, files: dict[str, bytes]) -> None:
    names = ("namespace", "created_at", "content", "map", "tags", "id", "type")
    files["map.toml"] = damaged_toml(names)(rng, files["map.toml"])
    files["map.json"] = json_or_bytes(rng, files["map.json"])


_MAP_DOORS: Final = tuple(
    Door(f"audit with {name}", ("audit", "chroma:///none#c", "--map", f"@{name}"))
    for name in ("map.toml", "map.json")
)


# ------------------------------------------------------------------ pairs


def _make_pairs(_place: Path) -> None:
    texts = [text for _, text, _ in MEMORIES]
    pairs = [{"id": n, "a": a, "b": b} for n, (a, b) in enumerate(pairwise(texts))]
    pairs.append({"a": {"id": "x", "content": texts[0]}, "b": {"content": texts[3], "tags": ["t"]}})
    Path("pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)) + "\n", "utf-8")


def _mutate_pairs(rng: Random, files: dict[str, bytes]) -> None:
    files["pairs.jsonl"] = lines_of(damaged_json, "a", "b", "a", "b")(rng, files["pairs.jsonl"])


_PAIR_DOORS: Final = (
    Door("judge", ("judge", "pairs.jsonl", "--encoder", "none")),
    Door("judge as JSON", ("judge", "pairs.jsonl", "--encoder", "none", "--json")),
    Door("judge from a pipe", ("judge", "-", "--encoder", "none"), stdin="pairs.jsonl"),
)


# ------------------------------------------------------------------ what is piped in, arguments


def _make_hook(_place: Path) -> None:
    write_notes()
    lines = [
        "Anna likes black tea.",
        '{"text": "The lift is broken.", "tags": ["house"]}',
        "",
        '{"content": "The lift is broken.", "namespace": "home", "importance": 5}',
    ]
    Path("input.txt").write_text("\n".join(lines) + "\n", "utf-8")
    Path("BOOT.md").write_text("# Rules\n\n- Speak plainly.\n- The lift is *not* new.\n", "utf-8")


def _mutate_hook(rng: Random, files: dict[str, bytes]) -> None:
    files["input.txt"] = lines_of(json_or_bytes, "text", "content", "id")(rng, files["input.txt"])
    if rng.random() < 0.4:
        files["BOOT.md"] = lines_of(damaged_bytes)(rng, files["BOOT.md"])


_ALONE: Final = ("--encoder", "none")
_HOOK_DOORS: Final = (
    Door("hook --dry-run", ("hook", "{store}", "--dry-run", "--json", *_ALONE), stdin="input.txt"),
    Door(
        "hook",
        ("hook", "{store}", "--boot", "BOOT.md", *_ALONE),
        "writes",
        "input.txt",
        partial=True,
    ),
    Door(
        "hook of JSON",
        ("hook", "{store}", "--format", "jsonl", "--review", "--recalled", "BOOT.md", *_ALONE),
        "writes",
        "input.txt",
        partial=True,
    ),
    Door(
        "hook of text",
        ("hook", "{store}", "--format", "text", *_ALONE),
        "writes",
        "input.txt",
        partial=True,
    ),
    Door(
        "remember standard input",
        ("remember", "{store}", "-", "--boot", "BOOT.md", *_ALONE),
        "undone",
        "input.txt",
    ),
)


def _make_import(_place: Path) -> None:
    write_notes("source.jsonl")
    run("import", "source.jsonl", "source.db")
    used("source.db")
    write_notes()


def _mutate_import(rng: Random, files: dict[str, bytes]) -> None:
    edit = lines_of(json_or_bytes, "content", "id")
    files["source.jsonl"] = edit(rng, files["source.jsonl"])
    files["source.db"] = damaged_database(rng, files["source.db"])


_IMPORT_DOORS: Final = tuple(
    Door(
        f"import {source} into out.{new}",
        ("import", source, f"out-of-{source}.{new}"),
        makes=("out",),
    )
    for source in ("source.jsonl", "source.db")
    for new in ("jsonl", "db")
)


FILES: Final = (
    Target("plan", 8, _make_plan, _mutate_plan, _PLAN_DOORS, "m.jsonl"),
    Target("cache", 8, _make_caches, _mutate_caches, _CACHE_DOORS, "m.jsonl", fresh=True, cases=1),
    Target("config", 8, _make_config, _mutate_config, _CONFIG_DOORS, "m.jsonl"),
    Target("map", 2, _make_map, _mutate_map, _MAP_DOORS, "m.jsonl"),
    Target("pairs", 8, _make_pairs, _mutate_pairs, _PAIR_DOORS),
    Target("hook", 4, _make_hook, _mutate_hook, _HOOK_DOORS, "m.jsonl"),
    Target("import", 4, _make_import, _mutate_import, _IMPORT_DOORS, "m.jsonl"),
)
