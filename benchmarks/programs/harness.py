"""One program, from its install to its row: write, hide, search, undo, upgrade, delete, edit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.programs.catalogue import Program
from benchmarks.programs.compare import compared, contents, holding
from benchmarks.programs.environment import Environment, installed

Records = list[dict[str, Any]]

NOTES: Final = (
    ("The gateway listens on port 8443.", "ann"),
    ("Anna prefers green tea in the morning.", "ann"),
    ("the gateway listens on port 8443", "ann"),
    ("Backups run every night at two.", "ann"),
    ("Anna prefers green tea in the morning!", "ann"),
    ("The gateway listens on port 8444.", "ann"),
    ("Tickets are answered within two days.", "ann"),
    ("THE GATEWAY LISTENS ON PORT 8443!", "ann"),
    ("ANNA PREFERS GREEN TEA IN THE MORNING!!", "ben"),
)
"""What is written: two texts said again by ann, one other value, and one copy that is ben's."""

SAID_AGAIN: Final = (
    frozenset(NOTES[n][0] for n in (0, 2, 7)),
    frozenset(NOTES[n][0] for n in (1, 4)),
)
"""Texts of one owner that say the same; all but one of each may be hidden."""

EDIT: Final = (NOTES[6][0], "Tickets are answered within three days.")
MANY: Final = 20
FEW: Final = 2
STEP_SECONDS: Final = 600
ADDRESS: Final = re.compile(r"echoless (?:audit|dedup) ('[^']+'|\S+)")
KINDS: Final = re.compile(r" \(chroma, .*?\)|`echoless stores` lists what can be opened\.")
MOVES: Final = re.compile(r"`echoless dedup ('[^']+'|\S+) --apply` moves")


class Broken(Exception):
    """A step that could not be done; its text goes into the table."""


@dataclass(slots=True)
class Row:
    """What was seen of one program; empty where it was not tried."""

    program: str
    package: str
    version: str = ""
    older: str = ""
    messages: bool = False
    address: str = ""
    typed: bool = False
    hidden: str = ""
    found: str = ""
    survivor: str = ""
    order: str = ""
    times: str = ""
    vectors: str = ""
    fields: str = ""
    bytes: str = ""
    upgrade: str = ""
    left: str = ""
    edit: str = ""
    remarks: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict, repr=False)
    before: Records = field(default_factory=list, repr=False)
    steady: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """What the command line answered."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """Its error in a line, without what it says on the way."""
        lines = [line for line in (self.err + self.out).splitlines() if "Error" in line]
        line = (lines or (self.err + self.out).splitlines() or [""])[0]
        return KINDS.sub("", line)[:300]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a program is tried.

    Attributes:
        folder: Of this program; each part works on a copy of its store.
    """

    program: Program
    folder: Path
    environment: Environment
    older: Environment | None

    def copy(self, name: str, source: str = "base") -> Path:
        """A copy of a store, with all that lies beside it."""
        target = self.folder / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.folder / source, target, symlinks=True)
        return target

    def steps(self, store: Path, *steps: list[Any], older: bool = False) -> list[Any]:
        """Run functions of the program's file in its environment; None for one that is missing.

        Raises:
            Broken: One of them failed.
        """
        environment = self.older if older else self.environment
        assert environment is not None
        job, answer = self.folder / "job.json", self.folder / "answer.json"
        job.write_text(json.dumps({"folder": str(store), "steps": steps}), "utf-8")
        answer.unlink(missing_ok=True)
        said = _run(_command(environment, self.program, job, answer), store, _variables(store))
        with (self.folder / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"== {steps} in {store.name}\n{said.out}{said.err}\n")
        if not answer.exists():
            raise Broken(f"{steps[0][0]}: {(said.err or said.out).strip()[-300:]}")
        values = []
        for step, given in zip(steps, json.loads(answer.read_text("utf-8")), strict=True):
            if "error" in given:
                raise Broken(f"{step[0]}: {given['error']}")
            values.append(given.get("value"))
        return values

    def echoless(self, store: Path, *arguments: str) -> Said:
        """Run echoless beside the store; what it says is kept."""
        command = (sys.executable, "-m", "echoless", *arguments)
        said = _run(command, store, _variables(store, path=True))
        with (self.folder / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"== echoless {' '.join(arguments)} in {store.name}\n{said.out}{said.err}\n")
        return said


def tried(program: Program, work: Path) -> Row:
    """Do all that can be done with a program, and tell what was seen."""
    environment = installed(program, work)
    older = installed(program, work, older=True) if program.older else None
    row = Row(program.name, program.package, environment.version, messages=program.messages)
    row.older = older.version if older else ""
    row.remarks += [program.remark] if program.remark else []
    folder = work / "stores" / program.name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "base").mkdir(parents=True)
    bench = Bench(program, folder, environment, older)
    try:
        bench.steps(folder / "base", ["write", NOTES])
        hidden(bench, row)
    except Broken as error:
        row.remarks.append(_line(error, folder))
        return row
    for part in (undone, deleted, edited, upgraded):
        try:
            part(bench, row)
        except Broken as error:
            row.remarks.append(f"{part.__name__}: {_line(error, folder)}")
    return row


def _line(error: Broken, folder: Path) -> str:
    """An error in one line, without where it happened on this machine."""
    return " ".join(str(error).replace(f"{folder}/", "").split())


def hidden(bench: Bench, row: Row) -> None:
    """Hide by the address that echoless prints, search, check, undo, compare.

    Raises:
        Broken: echoless opens no store here, or refuses.
    """
    store = bench.copy("hidden")
    before, again = bench.steps(store, ["dump"], ["dump"])
    row.address, row.typed = address(bench, store)
    row.texts = _ids(bench, store, row.address)
    gone = _apply(bench, store, row.address, row.texts)
    row.hidden = _counted(before, gone, row.remarks)
    try:
        after, *found = bench.steps(store, ["dump"], *_searches(gone))
        _searched(row, before, gone, found)
        left = [one["text"] for one in after if one["text"] in gone]
        if row.found in {"no", "no search"} and left:
            row.remarks.append(f"its list still shows {len(left)} of them")
    except Broken as error:
        row.found = row.survivor = "**it fails**"
        row.remarks.append(f"after hiding: {error}")
    said = bench.echoless(store, "check", row.address)
    if said.code:
        row.remarks.append(f"check after hiding ends with {said.code}: {said.out.strip()[-200:]}")
    said = bench.echoless(store, "undo", row.address, "last")
    if said.code:
        raise Broken(f"undo ends with {said.code}: {said.error}")
    row.before, row.steady = before, _names(before) == _names(again)


def address(bench: Bench, store: Path) -> tuple[str, bool]:
    """What echoless prints to be typed, and whether the catalogue had to type it.

    Raises:
        Broken: It names no address.
    """
    program = bench.program
    typed = program.address
    said = bench.echoless(store, "audit", typed or program.store, "--encoder", "none")
    found = typed or program.store
    if said.code:
        named = [name.strip("'.") for name in ADDRESS.findall(said.err + said.out)]
        if typed or not named:
            raise Broken(f"not opened: {said.error}")
        found = next((name for name in named if name.endswith(f"#{program.table}")), named[0])
    said = bench.echoless(store, "dedup", found, "--encoder", "none")
    if said.code:
        raise Broken(f"dedup ends with {said.code}: {said.error}")
    moves = MOVES.search(said.err + said.out)
    return (moves[1].strip("'") if moves else found), bool(typed)


def undone(bench: Bench, row: Row) -> None:
    """Hide and undo with nothing between, and compare all files, and what the program lists."""
    store = bench.copy("undone")
    before = contents(store)
    _apply(bench, store, row.address, None)
    bench.echoless(store, "undo", row.address, "last")
    after = contents(store)
    names = before.keys() | after
    differ = [name for name in names if before.get(name) != after.get(name)]
    row.bytes = "yes" if not differ else f"no ({len(differ)} of {len(names)} files)"
    (listed,) = bench.steps(store, ["dump"])
    same = compared(row.before, listed, steady=row.steady)
    row.order, row.times, row.vectors, row.fields = (
        same.order,
        same.times,
        same.vectors,
        same.fields,
    )


def deleted(bench: Bench, row: Row) -> None:
    """Delete by echoless, and look for the deleted texts in the bytes of the store."""
    store = bench.copy("deleted")
    gone = _apply(bench, store, row.address, row.texts, "--action", "delete")
    files = holding(store, gone)
    row.left = ", ".join(f"{name}: {count}" for name, count in files.items()) or "none"


def edited(bench: Bench, row: Row) -> None:
    """Edit one memory by the program, and see whether it keeps its time."""
    store = bench.copy("edited")
    before, _, after = bench.steps(store, ["dump"], ["edit", *EDIT], ["dump"])
    old = [one["created"] for one in before if EDIT[0] in one["text"]]
    new = [one["created"] for one in after if EDIT[1] in one["text"]]
    if not new:
        row.edit = "–"
    elif old == [None] or not old:
        row.edit = "has no time"
    else:
        row.edit = "yes" if old == new else "no"


def upgraded(bench: Bench, row: Row) -> None:
    """The older version writes, echoless hides, the newest opens; then undo."""
    if not bench.older:
        return
    (bench.folder / "older").mkdir()
    bench.steps(bench.folder / "older", ["write", NOTES], older=True)
    control = bench.copy("control", "older")
    try:
        (before,) = bench.steps(control, ["dump"])
    except Broken as error:
        row.upgrade = f"the newest does not read what the older wrote: {str(error)[:120]}"
        return
    store = bench.copy("upgraded", "older")
    gone = _apply(bench, store, row.address, _ids(bench, store, row.address))
    bench.copy("searched", "upgraded")  # some programs note in a memory that it was found
    searched = bench.steps(bench.folder / "searched", *_searches(gone))
    (after,) = bench.steps(store, ["dump"])
    seen = {text for text in gone if any(text in (texts or []) for texts in searched)}
    shown = {one["text"] for one in after if one["text"] in gone} - seen
    said = bench.echoless(store, "undo", row.address, "last")
    if said.code:
        row.upgrade = f"undo ends with {said.code}: {said.error}"
        return
    (listed,) = bench.steps(store, ["dump"])
    same = compared(before, listed, steady=row.steady)
    more = f" ({len(shown)} in its list)" if shown else ""
    row.upgrade = f"{len(gone)} hidden, {len(seen)} found{more}; undo {same.words}"


def _searches(gone: dict[str, str]) -> list[list[Any]]:
    """What a person would type for each hidden text: its words alone."""
    words = [re.sub(r"[^\w ]", "", text).lower() for text in gone]
    return [["search", query, limit] for query in words for limit in (MANY, FEW)]


def _searched(row: Row, before: Records, gone: dict[str, str], found: list[Any]) -> None:
    if not found or found[0] is None:
        row.found = row.survivor = "no search"
        return
    many, few = found[::2], found[1::2]
    seen = [text for text, texts in zip(gone, many, strict=True) if text in texts]
    row.found = f"yes ({len(seen)} of {len(gone)})" if seen else "no"
    kept = {one["text"] for one in before} - gone.keys()
    survivors = [next(iter(_alike(text) & kept), "") for text in gone]
    missed = [s for s, texts in zip(survivors, many, strict=True) if s not in texts]
    short = [s for s, texts in zip(survivors, few, strict=True) if s not in texts]
    row.survivor = f"no ({len(missed)} missed)" if missed else "yes"
    if short and not missed:
        row.survivor = f"yes, but not among the first {FEW} ({len(short)} of {len(gone)})"


def _alike(text: str) -> frozenset[str]:
    return next((group for group in SAID_AGAIN if text in group), frozenset())


def _counted(before: Records, gone: dict[str, str], remarks: list[str]) -> str:
    written = {one["text"] for one in before}
    wanted = sum(max(len(group & written) - 1, 0) for group in SAID_AGAIN)
    if NOTES[-1][0] in gone or any(group <= gone.keys() for group in SAID_AGAIN):
        remarks.append("**hidden across users**: what one user was told stands for two")
    wrong = [text for text in gone if not _alike(text) and text != NOTES[-1][0]]
    if wrong:
        remarks.append(f"**wrongly hidden**: {'; '.join(wrong)}")
    return f"{len(gone)} of {wanted}"


def _names(records: Records) -> list[str]:
    return [one["id"] for one in records]


def _ids(bench: Bench, store: Path, address: str) -> dict[str, str]:
    """Texts by the ids of echoless."""
    target = bench.folder / "export.jsonl"
    for file in (target, target.with_name("export.jsonl.echoless")):
        file.unlink(missing_ok=True)
    said = bench.echoless(store, "export", address, str(target))
    if said.code:
        raise Broken(f"export ends with {said.code}: {said.error}")
    lines = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    return {line["id"]: line["content"] for line in lines if "content" in line}


def _apply(
    bench: Bench, store: Path, address: str, texts: dict[str, str] | None, *more: str
) -> dict[str, str]:
    """Hide; gives the text and the id of each that was hidden."""
    said = bench.echoless(store, "dedup", address, "--encoder", "none", "--apply", "--json", *more)
    if said.code:
        raise Broken(f"dedup --apply ends with {said.code}: {said.error}")
    answer = json.loads(said.out)
    refused = answer["run"]["refused"] if answer.get("run") else []
    if refused:
        raise Broken(f"dedup refuses {len(refused)}: {str(refused[0])[:200]}")
    ids = [one["id"] for group in answer["groups"] for one in group["members"]]
    if not ids:
        raise Broken("dedup finds nothing to hide")
    return {texts[name].strip(): name for name in ids} if texts else {}


def _command(
    environment: Environment, program: Program, job: Path, answer: Path
) -> tuple[str, ...]:
    given = (program.name.replace("-", "_"), str(job), str(answer))
    if program.language == "python":
        return (*environment.command, "-m", "benchmarks.programs.inside", *given)
    scripts = environment.folder / "inside"  # packages are looked for from where a module lies
    shutil.copytree(Path(__file__).with_name("inside"), scripts, dirs_exist_ok=True)
    return (*environment.command, str(scripts / "launch.mjs"), *given)


def _variables(store: Path, *, path: bool = False) -> dict[str, str]:
    """No variable of the caller's but where programs are; a home of its own; nothing is sent."""
    home = store / "home"
    home.mkdir(exist_ok=True)
    here = Path(__file__).parents[2]
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", "") if path else str(here),
        "ECHOLESS_NO_CONFIG": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "none",
        "OTEL_SDK_DISABLED": "true",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=4096",  # shodh-memory loads with it alone
    }


def _run(command: tuple[str, ...], folder: Path, variables: dict[str, str]) -> Said:
    try:
        said = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=variables,
            timeout=STEP_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Said(124, "", f"no answer within {STEP_SECONDS} s")
    return Said(said.returncode, said.stdout, said.stderr)
