"""A case comes in by a door: what the command line does with it, and what it must never do."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from click.testing import CliRunner

from benchmarks.fuzz.canaries import disturbed, told_by
from benchmarks.fuzz.model import Door, Fault, Target, Wrong
from echoless import open_store
from echoless.cli.main import main
from echoless.core.errors import INTERRUPTED, EcholessError, PlanError

_CRASH = re.compile(r"^Error: (\w[\w.]*): (?:.|\n)*This should not happen", re.MULTILINE)
_FRAME = re.compile(r'^  File "[^"\n]*/echoless/([^"\n]+)", line (\d+),? in (\S+)', re.MULTILINE)
_RAISED = re.compile(
    r"^(\w[\w.]*(?:Error|Exception|Abort|Iteration|Interrupt|Warning))", re.MULTILINE
)
_RUN = re.compile(r"\bundo (?:\S+ )?(run-[\w-]+)")
_CODES = frozenset({*range(11)})
_CONTROL = re.compile(
    "[\0-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""What may move the cursor, ring, or turn the order of letters round on a terminal."""

_OURS = ("cache/", "home/")
"""Folders outside of the store: a convenience that any command may fill."""


_BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside a database that is open."""


def snapshot() -> dict[str, bytes]:
    """Every file of the current folder but locks and caches."""
    contents = {}
    for path in sorted(Path().rglob("*")):
        name = path.as_posix()
        if path.is_file() and path.suffix != ".lock" and not name.startswith(_OURS):
            contents[name] = path.read_bytes()
    return contents


def drive(doors: Sequence[Door], target: Target, codes: Counter[int]) -> Iterator[Wrong]:
    """Bring the case in the current folder in by some doors, one after the other.

    Args:
        doors: Those that read before those that write.
        target: Whose case it is.
        codes: Takes the exit codes.
    """
    store = target.store
    for door in doors:
        if door.talk is not None:
            before = snapshot()
            yield from door.talk(store)
            if door.effect == "reads":
                yield from _changed(door, before, refused=False)
        elif door.effect == "undone":
            yield from _there_and_back(door, target, codes)
        else:
            before = snapshot()
            code, _, wrong = command(door, store, codes)
            yield from wrong
            refused = code not in {0, 9, 10} and not door.partial
            if not target.housekeeping and (door.effect == "reads" or refused):
                yield from _changed(door, before, refused=refused)
        yield from disturbed(door.name)


def command(door: Door, store: str, codes: Counter[int]) -> tuple[int, str, list[Wrong]]:
    """Run one command line.

    Returns:
        Exit code, all that was printed, and what was wrong with how it ended and what it printed.
    """
    given = Path(door.stdin).read_bytes() if door.stdin else b""
    words = [word.replace("{store}", store) for word in door.words]
    result = CliRunner().invoke(main, ["--debug", *words], input=given, prog_name="echoless")
    codes[result.exit_code] += 1
    wrong = list(_ended_badly(door, result.exit_code, result.stderr, result.exception))
    if not wrong:
        wrong += _printed_badly(door, result.exit_code, result.stdout, result.stderr)
    wrong += told_by(door.name, result.stdout + result.stderr)
    return result.exit_code, result.stdout + result.stderr, wrong


def _ended_badly(
    door: Door, code: int, stderr: str, problem: BaseException | None
) -> Iterator[Wrong]:
    crash = _CRASH.search(stderr)
    if crash:
        yield Wrong("internal error", door.name, crash[1], frame_of(stderr), _end(stderr))
    elif code == INTERRUPTED:  # nobody pressed anything: an EOFError that click took for Ctrl-C
        raised = [name for name in _RAISED.findall(stderr) if "Abort" not in name]
        error = raised[-1] if raised else "Abort"
        yield Wrong("internal error", door.name, error, frame_of(stderr), _end(stderr))
    elif problem is not None and not isinstance(problem, SystemExit):
        yield Wrong("internal error", door.name, type(problem).__name__, "", repr(problem)[:500])
    elif code not in _CODES:
        yield Wrong("internal error", door.name, f"exit code {code}", "", _end(stderr))


def _printed_badly(door: Door, code: int, stdout: str, stderr: str) -> Iterator[Wrong]:
    if "--json" in door.words:
        if code == 0 and not _is_json(stdout):
            yield Wrong("internal error", door.name, "what --json printed is no JSON", "", stdout)
        return
    output = stdout if "Traceback" in stderr else stdout + stderr
    match = _CONTROL.search(output)
    if match:
        around = repr(output[max(0, match.start() - 60) : match.end() + 20])
        error = f"printed {match[0]!r} by {door.words[0]}"
        yield Wrong("control characters", door.name, error, "", around)


def _is_json(text: str) -> bool:
    for parts in ([text], text.splitlines()):
        try:
            for part in parts:
                json.loads(part, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        return True
    return False


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def frame_of(traceback: str) -> str:
    """The innermost place in echoless of the last traceback of a text, as `file.py:function`."""
    frames = _FRAME.findall(traceback.rpartition("Traceback (most recent call last)")[2])
    frames = [each for each in frames if not each[0].startswith("errors.py")]
    return f"{frames[-1][0]}:{frames[-1][2]}" if frames else ""


def _end(text: str) -> str:
    return text[-1500:]


# ------------------------------------------------------------------ what was changed


def _changed(door: Door, before: dict[str, bytes], *, refused: bool) -> Iterator[Wrong]:
    fault: Fault = "changed by a refusal" if refused else "changed by reading"
    after = snapshot()
    if any(name.endswith(_BESIDE) for name in after.keys() ^ before.keys()):
        gc.collect()  # an error still holds its connection, which the end of a process closes
        after = snapshot()
    made = () if refused else door.makes
    for name in sorted(after.keys() | before.keys()):
        if after.get(name) == before.get(name):
            continue
        if name not in before and name.startswith(made or ("\0",)):
            continue
        how = "made" if name not in before else "removed" if name not in after else "changed"
        yield Wrong(fault, door.name, f"{how} {_kind(name)} by {door.words[:1]}", "", name)


def _kind(name: str) -> str:
    """The end of a file's name: the rest differs from case to case."""
    return "".join(Path(name).suffixes[-2:]) or "a file"


def _picture(store: str) -> object:
    """What a store holds; for a text file its very bytes. None if it cannot be read."""
    path = Path(store)
    if path.suffix in {".jsonl", ".md"}:
        return path.read_bytes()
    if path.is_dir() and any(path.glob("*.md")):
        return {each.as_posix(): each.read_bytes() for each in sorted(path.rglob("*.md"))
                if each.is_file()}  # fmt: skip
    try:
        with open_store(store) as opened:
            return sorted(map(repr, opened.scan()))
    except EcholessError:
        return None
    except Exception:  # noqa: BLE001 - the doors tell this one
        return None


def _texts(store: str) -> list[str]:
    """Every text of a store, the hidden ones among them; none if it cannot be read."""
    try:
        with open_store(store) as opened:
            return sorted(memory.content for memory in opened.scan())
    except Exception:  # noqa: BLE001 - the doors tell this one
        return []


def _runs(store: str) -> set[str]:
    """Returns the runs a store knows: an output may name them beside those of its own command."""
    try:
        with open_store(store) as opened:
            return {event.run for event in opened.ledger.events()}
    except Exception:  # noqa: BLE001 - the doors tell this one
        return set()


def _order(store: str) -> dict[str, int]:
    """Returns the place of each run in the order in which they began; none if that is damaged."""
    try:
        with open_store(store) as opened:
            runs = dict.fromkeys(event.run for event in opened.ledger.events())
            return {run: at for at, run in enumerate(runs)}
    except Exception:  # noqa: BLE001 - the doors tell this one
        return {}


def _refused(door: Door, store: str, before: object, files: dict[str, bytes]) -> Iterator[Wrong]:
    """The ledger may tell of a run that did nothing; all else is as it was."""
    if _picture(store) != before:
        yield Wrong("changed by a refusal", door.name, "changed the store", "", store)
    for wrong in _changed(door, files, refused=True):
        if not wrong.detail.startswith(store):
            yield wrong


def _there_and_back(door: Door, target: Target, codes: Counter[int]) -> Iterator[Wrong]:
    """Write, take it back, and compare."""
    store = target.store
    before, files, earlier, texts = _picture(store), snapshot(), _runs(store), _texts(store)
    code, output, wrong = command(door, store, codes)
    shown = output
    yield from wrong
    if wrong or before is None:
        return
    if code not in {0, 9, PlanError.exit_code}:
        yield from _refused(door, store, before, files)
        return
    runs = [run for run in dict.fromkeys(_RUN.findall(output)) if run not in earlier]
    if not runs or (code == PlanError.exit_code and _picture(store) == before):
        if _picture(store) != before:
            yield Wrong("not undone", door.name, "changed the store and named no run", "", output)
        return
    order = _order(store)
    # one command may make several runs: the last is the first to go
    runs.reverse()
    for run in sorted(runs, key=lambda each: order.get(each, -1), reverse=True):
        back = Door(f"undo after {door.name}", ("undo", "{store}", run))
        code, output, wrong = command(back, store, codes)
        yield from wrong
        if wrong:
            return
        if code != 0:
            if not target.undo_may_refuse:
                yield Wrong("not undone", door.name, f"undo ended with {code}", "", output)
            return
    freed = "mark outdated" in shown  # shown again for good, before the run and apart from it
    if _picture(store) != before and not (freed and _texts(store) == texts):
        yield Wrong("not undone", door.name, "undo did not give back what was there", "", output)
