"""Folders somebody else made: journals, sidecars, front matter, pickles, plans and archives.

Inputs begin from valid files and change fields, so that they come past the first look; they name
the canaries, and ask for commands to be run. What they must never reach is in `canaries.py`.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.fuzz.canaries import (
    CANARIES,
    FIFO,
    FOLDER,
    HERE,
    LINK,
    PATHS,
    RUNS,
    STAMP,
)
from benchmarks.fuzz.databases import damaged_database
from benchmarks.fuzz.files import sealed
from benchmarks.fuzz.model import Door, Target
from benchmarks.fuzz.mutation import damaged_bytes, damaged_json, hostile_text, json_or_bytes, some
from benchmarks.fuzz.seeds import MEMORIES, run
from benchmarks.fuzz.stores import store_doors
from echoless.core.model import Json
from echoless.stores.markdown.state import digest_of, digest_of_lines

_FILE: Final = "clone/CLAUDE.md"
_FOLDER: Final = "clone/memory"
_STORE: Final = "{store}"
_WORDS: Final = (
    "--set",
    "semantic=no",
)
_EVENTS: Final = ("event.json", "start.json")

_LINKS: Final = {
    "clone/link": LINK + b"../victim",
    "clone/one.md": LINK + b"../victim/diary.md",
    "clone/gone.md": LINK + b"../victim/new.md",
}


def _doors(*more: Door) -> tuple[Door, ...]:
    """Doors of a store of text files, those that run by themselves among them."""
    return (
        *store_doors(*_WORDS),
        Door("audit --github", ("audit", _STORE, "--format", "github", *_WORDS)),
        *(
            Door(f"claude-hook {name}", ("claude-hook", "--memory", _STORE), stdin=name)
            for name in _EVENTS
        ),
        *more,
    )


def _write_events(path: str) -> None:
    """Writes what Claude Code hands to a hook."""
    beginning = {"session_id": "s", "cwd": "."}
    wrote = {"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}}
    event = {**beginning, "hook_event_name": "PostToolUse", **wrote}
    Path("event.json").write_text(json.dumps(event), "utf-8")
    start = {**beginning, "hook_event_name": "SessionStart", "source": "startup"}
    Path("start.json").write_text(json.dumps(start), "utf-8")


def _write_rules(_place: Path) -> None:
    """Writes a file of rules with a history: something hidden, something removed, something new."""
    Path("clone").mkdir()
    lines = "".join(f"- {text}\n" for _, text, _ in MEMORIES)
    Path(_FILE).write_text(f"# Rules\n\n{lines}\n## More\n\n- Be kind.\n- be kind\n", "utf-8")
    Path("clone/AGENTS.md").write_text("# Rules\n\n- Be quick.\n- Be quick!\n", "utf-8")
    run("dedup", _FILE, "--set", "semantic=no", "--apply")
    run("remember", _FILE, "The staging server has 16 GB.", "--encoder", "none")
    _write_events(_FILE)


# ------------------------------------------------------------------ changing what names a file


def _renamed(rng: Random, value: Json, known: Sequence[str]) -> Json:
    """Puts a hostile path where the name of a file stands, as a key or a value, mostly once."""
    places = _naming(value, known)
    if not places:
        return value
    holder, key, is_key = some(rng, places)
    new = some(rng, PATHS)
    if not is_key:
        holder[key] = new  # type: ignore[index]
    elif isinstance(holder, dict):
        inner = holder[str(key)] if rng.random() < 0.5 else holder.pop(str(key))
        holder[new] = inner
    return value


def _naming(value: Json, known: Sequence[str]) -> list[tuple[Json, str | int, bool]]:
    places: list[tuple[Json, str | int, bool]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else ()  # fmt: skip
    for key, inner in pairs:
        if isinstance(key, str) and any(name in key for name in known):
            places.append((value, key, True))
        if isinstance(inner, str) and any(name in inner for name in known):
            places.append((value, key, False))
        places += _naming(inner, known)
    return places


_NAMES: Final = (".md", ".jsonl", ".db", ".json", "CLAUDE", "memory/")


def _hostile_json(rng: Random, data: bytes) -> bytes:
    """A document with hostile paths where it names files; sometimes any other damage too."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return damaged_bytes(rng, data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        value = _renamed(rng, value, _NAMES)
    data = json.dumps(value).encode()
    return json_or_bytes(rng, data) if rng.random() < 0.3 else data


def _linked(rng: Random, files: dict[str, bytes]) -> None:
    if rng.random() < 0.6:
        files |= _LINKS


# ------------------------------------------------------------------ journal of a write


def _make_journal(place: Path) -> None:
    _write_rules(place)
    now = Path(_FILE).read_bytes()
    before = {"CLAUDE.md": base64.b64encode(now + b"- Once more.\n").decode()}
    after = {"CLAUDE.md": digest_of(now.decode())}
    journal = {"token": "t", "before": before, "after": after}
    Path(f"{_FILE}.echoless-files").write_text(json.dumps(journal), "utf-8")


def _mutate_journal(rng: Random, files: dict[str, bytes]) -> None:
    name = f"{_FILE}.echoless-files"
    _linked(rng, files)
    journal = json.loads(files[name])
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        path = some(rng, PATHS)
        image = some(rng, (None, "", base64.b64encode(RUNS.encode()).decode()))
        journal["before"][path] = image
        journal["after"][path] = some(rng, ("", *_digests()))
        if rng.random() < 0.1:
            journal["before"].pop("CLAUDE.md", None)
    data = json.dumps(journal).encode()
    files[name] = _hostile_json(rng, data) if rng.random() < 0.4 else data
    if rng.random() < 0.04:
        files[name] = some(rng, (FIFO, FOLDER, LINK + b"../victim/known.txt", LINK + b"loop"))


def _digests() -> list[str]:
    return [digest_of(text) for text in CANARIES.values()]


# ------------------------------------------------------------------ state in a sidecar


def _mutate_sidecar(rng: Random, files: dict[str, bytes]) -> None:
    """The state of the files names others, with digests that are right for them."""
    _linked(rng, files)
    name = f"{_FILE}.echoless"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        wal = files[name][18:20]
        db.deserialize(files[name][:18] + b"\1\1" + files[name][20:])
        row = db.execute("SELECT value FROM facts WHERE key = 'markdown'").fetchone()
        state = _hostile_state(rng, json.loads(row[0]))
        data = json.dumps(state)
        if rng.random() < 0.2:
            data = damaged_json(rng, data.encode()).decode("utf-8", "replace")
        db.execute("UPDATE facts SET value = ? WHERE key = 'markdown'", (data,))
        new = db.serialize()
    files[name] = new[:18] + wal + new[20:]
    if rng.random() < 0.1:
        files[name] = damaged_database(rng, files[name])


def _hostile_state(rng: Random, state: dict[str, Json]) -> Json:
    held = state.get("files")
    if isinstance(held, dict) and held and rng.random() < 0.7:
        known = held.pop(some(rng, sorted(held))) if rng.random() < 0.6 else next(
            iter(held.values()))  # fmt: skip
        path = some(rng, PATHS)
        text = CANARIES.get(path.removeprefix("../").removeprefix("/proc/self/cwd/"), "")
        if isinstance(known, dict):
            known = {**known, "lines": digest_of_lines(text.splitlines())}
        held[path] = known
    moved = state.setdefault("moved", {})
    if isinstance(moved, dict) and rng.random() < 0.5:
        path = some(rng, PATHS)
        mark: Json = {"duplicate": path, "survivor": "CLAUDE.md", "run": "run-x", "texts": "",
                      "verdict": "duplicate", "similarity": 1.0, "evidence": "same"}  # fmt: skip
        moved[some(rng, PATHS)] = {"path": path, "mark": mark}
    return _renamed(rng, state, _NAMES) if rng.random() < 0.3 else state


# ------------------------------------------------------------------ memory files and archives


def _write_memory(_place: Path) -> None:
    """Writes a memory folder of Claude Code with something hidden in its archive."""
    folder = Path(_FOLDER)
    folder.mkdir(parents=True)
    for number, (id_, text, _) in enumerate(MEMORIES[:6]):
        head = f"---\nname: note {id_}\ndescription: note {number}\ntype: project\n---\n"
        (folder / f"{id_}.md").write_text(f"{head}\n{text}\n", "utf-8")
    (folder / "toml.md").write_text('+++\ntitle = "a"\ntags = ["x"]\n+++\n\nTea is hot.\n', "utf-8")
    (folder / "json.md").write_text('{"title": "a", "tags": ["x"]}\n\nTea is hot!\n', "utf-8")
    lines = (f"- [{id_}]({id_}.md) — {text[:20]}\n" for id_, text, _ in MEMORIES[:6])
    (folder / "MEMORY.md").write_text("".join(lines), "utf-8")
    for path in folder.iterdir():
        os.utime(path, (STAMP, STAMP))  # a plan names the time, and a case is written anew
    _write_events(f"{_FOLDER}/m-1.md")


def _make_archive(place: Path) -> None:
    _write_memory(place)
    run("dedup", _FOLDER, "--set", "semantic=no", "--apply")


def _mutate_archive(rng: Random, files: dict[str, bytes]) -> None:
    """Links, FIFOs, folders and files that are one another; forged entries."""
    folder = f"{_FOLDER}/archive"
    inside = sorted(name for name in files if name.startswith(f"{folder}/"))
    outside = [name for name in files if name.startswith(f"{_FOLDER}/") and name not in inside]
    for _ in range(rng.choice((1, 1, 2, 3))):
        up = some(rng, ("../../../", "../../", "../../../../"))
        target = some(rng, [up + name for name in CANARIES] + [up + "victim", "loop", ".", "x"])
        odd = some(rng, (LINK + target.encode(), LINK + target.encode(), FIFO, FOLDER, b""))
        match rng.randrange(5):
            case 0:  # the whole archive is another folder, a file, a link, a FIFO
                for name in [name for name in files if name.startswith(f"{folder}/")]:
                    del files[name]
                files[folder] = some(rng, (LINK + f"{up}victim".encode(), odd, b"a file\n"))
                inside = []
            case 1 if inside and folder not in files:
                files[some(rng, inside)] = odd
            case 2 if inside and folder not in files:
                name = some(rng, inside)
                edit = some(rng, (damaged_bytes, _forged))
                files[name] = edit(rng, files.get(name, b""))
            case 3:
                name = some(rng, (*outside, f"{_FOLDER}/loop", f"{_FOLDER}/new.md"))
                files[name] = odd
            case _:
                name = some(rng, ("MEMORY.md.md", "m-5.md.md", "m-6.md", "one.md.md"))
                if folder not in files:
                    files[f"{folder}/{name}"] = some(rng, (odd, b"- own line", b"own\n"))


def _forged(rng: Random, data: bytes) -> bytes:
    """The text of an archive with another id, path or end in its comments."""
    old = some(rng, (b"m-1.md", b"MEMORY.md", b"-->", b"<!--", b"echoless", b'"'))
    return data.replace(old, some(rng, PATHS).encode("utf-8", "surrogateescape"), 1)


# ------------------------------------------------------------------ front matter

_ALIASES: Final = f"a: &a [{', '.join('x' * 49)}]\nb: [{', '.join(['*a'] * 99)}]\n"
"""One alias more than are read: 5,001 values."""

_YAML: Final = (
    _ALIASES, "a: &a\n  b: c\n", "a: &a [b]\n", "<<: *x\n", "a: &x {b: 1}\n<<: *x\n<<: [*x, *x]\n",
    "a: " + "[" * 257 + "\n", "a: " + "{a: " * 257 + "\n", "? " * 40 + "\n",
    "- " * 40 + "a\n", f"a: !!python/object/apply:{HERE}.ran []\n",
    f"a: !!python/name:{HERE}.ran\n", "a: !!binary x\n", "a: !x y\n",
    "%TAG ! tag:x,2000:\n--- a\n", "a: |\n  x\n ---\n", "a: 'x\n", '"a\n', "a:\tb\n", "{}\n",
    "[]\n", "a: " + "9" * 6_000 + "\n", "a: 1e999\n", "a: 0x" + "f" * 5_000 + "\n",
    "a: 2026-99-99\n", "a: 190:20:30\n", "a: .nan\n", "a: \udc80\n", "a: \0\n",
    "type: [a, {b: c}]\n", "description: 5\nname: []\n", "metadata: {type: {a: b}}\n",
    "tags: {a: &a [b], c: *a}\n", "name: ../../../victim/diary\n", "created_at: [1]\n",
    "permalink: ../../victim/diary\n",
)  # fmt: skip
_TOML: Final = (
    "a = 1\n", "a = [[[[1]]]]\n", "[a]\n[a]\n", "a" * 9_000 + " = 1\n", "a = " + "[" * 1_100 + "\n",
    "a = 1979-05-27T07:32:00Z\n", "",
)  # fmt: skip


def _mutate_front(rng: Random, files: dict[str, bytes]) -> None:
    names = sorted(name for name in files if name.startswith(_FOLDER) and "MEMORY" not in name)
    for name in rng.sample(names, rng.choice((1, 1, 2, len(names)))):
        body = files[name].rpartition(b"---\n")[2]
        match rng.randrange(6):
            case 0:
                files[name] = damaged_bytes(rng, files[name])
            case 1:  # TOML and JSON, sound and not
                inner = some(rng, _TOML)
                files[name] = f"+++\n{inner}+++\n".encode() + body
            case 2:
                files[name] = damaged_json(rng, b'{"title": "a", "tags": ["x"]}') + b"\n" + body
            case 3:  # a second block, one without an end, one of Windows
                twice = f"---\n{some(rng, _YAML)}---\n".encode("utf-8", "surrogatepass")
                files[name] = twice + some(rng, (twice, b"---\n", b"")) + body
            case 4:
                line = some(rng, _YAML) + some(rng, _YAML)
                files[name] = _with_lines(files[name], line.encode("utf-8", "surrogatepass"))
            case _:
                key = some(rng, ("name", "type", "description", "tags", "title", "metadata"))
                named = f"{key}: {hostile_text(rng)}\n".encode("utf-8", "surrogatepass")
                files[name] = _with_lines(files[name], named)


def _with_lines(data: bytes, lines: bytes) -> bytes:
    head, fence, rest = data.partition(b"---\n")
    return head + fence + lines + rest if fence else b"---\n" + lines + b"---\n" + data


# ------------------------------------------------------------------ plans over files


def _make_file_plan(place: Path) -> None:
    _write_rules(place)
    run("dedup", _FILE, "--set", "semantic=no", "--plan", "hide.json", "--action", "merge")
    run("remember", _FILE, "Be kind, and be quick.", "--encoder", "none")
    run("undo", _FILE, "last")
    _write_memory(place)
    run("remember", _FOLDER, "The staging server has 32 GB.", "--encoder", "none")
    run("dedup", _FOLDER, "--set", "semantic=no", "--action", "delete", "--plan", "remove.json")


def _mutate_file_plan(rng: Random, files: dict[str, bytes]) -> None:
    _linked(rng, files)
    for name in ("hide.json", "remove.json"):
        data = _hostile_json(rng, files[name])
        files[name] = sealed(data) if rng.random() < 0.8 else data


# ------------------------------------------------------------------ rows of Qdrant

_ROWS: Final = "clone/qdrant/collection/mem0/storage.sqlite"
_GLOBALS: Final = (
    *((HERE, "ran"), (HERE, "Within.ran")) * 3,
    ("decimal", "Decimal"), ("collections", "OrderedDict"), ("builtins", "bytearray"),
    ("datetime", "datetime.now"), ("qdrant_client.http.models.models", "PointStruct.__init__"),
    ("qdrant_client.http.models.models", "SparseVector"),
)  # fmt: skip


def _make_qdrant(_place: Path) -> None:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path="clone/qdrant")
    size = models.VectorParams(size=3, distance=models.Distance.COSINE)
    client.create_collection("mem0", size)
    points = [
        models.PointStruct(
            id=f"00000000-0000-0000-0000-{n:012d}",
            vector=[1.0, n % 3, 0.5],
            payload={"data": text, "hash": "h", "user_id": owner or "ann",
                     "created_at": f"2026-01-{n + 1:02d}T10:00:00+00:00"},
        )
        for n, (_, text, owner) in enumerate(MEMORIES)
    ]  # fmt: skip
    client.upsert("mem0", points)
    client.close()


def _text(value: str) -> bytes:
    data = value.encode()
    return b"\x8c" + bytes([len(data)]) + data


def _global(module: str, name: str) -> bytes:
    return _text(module) + _text(name) + b"\x93"


def _gadget(rng: Random) -> bytes:
    """Opcodes by which Python's reader calls what they name, which leaves the marker."""
    module, name = some(rng, _GLOBALS)
    match rng.randrange(6):
        case 0:
            return _global(module, name) + _text(RUNS) + b"\x85R0"
        case 1 | 2 | 3:  # an object that is given its state
            return _global(HERE, "Within") + b")\x81}b0"
        case 4:
            return f"c{module}\n{name}\n".encode() + b"(" + _text(RUNS) + b"tR0"
        case _:  # a persistent id, an extension, another protocol
            return some(rng, (b"Px\n0", b"\x82\x010", b"(i" + f"{module}\n{name}\n0".encode()))


def _mutate_rows(rng: Random, files: dict[str, bytes]) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.deserialize(files[_ROWS])
        for _ in range(rng.choice((1, 1, 2))):
            id_, point = some(
                rng, db.execute("SELECT id, point FROM points ORDER BY id").fetchall()
            )
            new_id, new = _other_row(rng, id_, point)
            query = "UPDATE OR REPLACE points SET id = ?, point = ? WHERE id = ?"
            db.execute(query, (new_id, new, id_))
        files[_ROWS] = db.serialize()
    if rng.random() < 0.1:
        files[_ROWS] = damaged_database(rng, files[_ROWS])
    if rng.random() < 0.1:
        files["clone/qdrant/meta.json"] = _hostile_json(rng, files["clone/qdrant/meta.json"])


def _other_row(rng: Random, id_: object, point: bytes) -> tuple[object, object]:
    gadget = _gadget(rng)
    match rng.randrange(6):
        case 0 | 1 | 2:  # first the gadget, then the point as it was
            start = 11 if point[2:3] == b"\x95" else 2
            return id_, b"\x80\x04" + gadget + point[start:]
        case 3:
            key = b"\x80\x04" + gadget + _text("x") + b"."
            return some(rng, ("x", "?", base64.b64encode(key).decode(), "é", 5, None)), point
        case 4:
            odd = (None, 5, [1], {"a": b"b"}, {"id": 1}, hostile_text(rng))
            return id_, pickle.dumps(some(rng, odd))
        case _:
            return id_, damaged_bytes(rng, point)


def _qdrant_doors() -> tuple[Door, ...]:
    url = "mem0:///clone/qdrant"
    return (
        Door("audit", ("audit", url, *_WORDS)),
        Door("search", ("search", url, "database port")),
        Door("export", ("export", url, "out.jsonl"), makes=("out",)),
        Door("hide", ("dedup", url, *_WORDS, "--apply"), "writes", partial=True),
        Door("delete", ("dedup", url, *_WORDS, "--action", "delete", "--apply"), "writes",
             partial=True),
        Door("undo", ("undo", url, "last"), "writes", partial=True),
        Door("check", ("check", url), "writes", partial=True),
    )  # fmt: skip


# ------------------------------------------------------------------ all of them

_Mutation = Callable[[Random, dict[str, bytes]], None]


def _target(name: str, share: int, make: Callable[[Path], None], mutate: _Mutation, store: str,
            doors: Iterable[Door], **more: object) -> Target:  # fmt: skip
    return Target(name, share, make, mutate, tuple(doors), store, undo_may_refuse=True, **more)  # type: ignore[arg-type]


def _unfinished(doors: Sequence[Door]) -> Iterator[Door]:
    """Doors of a store with an unfinished write, which is taken back before anything else."""
    for door in doors:
        if door.effect == "undone":
            yield replace(door, effect="writes", partial=True)
        else:
            yield door


_PLANS: Final = (
    Door("apply", ("apply", _FILE, "hide.json"), "writes", partial=True),
    Door("apply to a folder", ("apply", _FOLDER, "remove.json"), "writes", partial=True),
    Door("apply as JSON", ("apply", _FILE, "hide.json", "--json"), "writes", partial=True),
)

HOSTILE: Final = (
    _target("journal", 8, _make_journal, _mutate_journal, _FILE, _unfinished(_doors())),
    _target("sidecar", 8, _write_rules, _mutate_sidecar, _FILE, _doors()),
    _target("front matter", 8, _write_memory, _mutate_front, _FOLDER, _doors()),
    _target("archive", 8, _make_archive, _mutate_archive, _FOLDER, _doors()),
    _target("file plan", 5, _make_file_plan, _mutate_file_plan, _FILE, _PLANS),
    _target("qdrant", 5, _make_qdrant, _mutate_rows, "clone/qdrant", _qdrant_doors(),
            warm=("qdrant_client",)),
)  # fmt: skip
