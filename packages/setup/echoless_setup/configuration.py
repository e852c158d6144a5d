"""Writes a server of echoless into the configuration files of agents, and takes it back.

Which agents there are, where their files lie and which form they have is data, in `agents.toml`.
Only our own entry is added or replaced; each other character stays, and what was made is read again
and compared before it is written. What a file held before is kept in a folder of this user, so that
it comes back byte for byte where nobody changed the file since.
"""

from __future__ import annotations

import base64
import difflib
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from echoless.core.errors import EcholessError, InputError, StoreReadOnly, UsageError
from echoless.core.own_folders import NOWHERE, expanded, insist_on_own, make_own, user_folder
from echoless.stores.files import Snapshot, make_folders, read_bytes, refuse_changed, replace_bytes
from echoless.stores.places import Base
from echoless.stores.registry import locate
from echoless_setup.json_document import NEW_ELEMENT, document, put, take

NAME: Final = "echoless"
"""Of the server in each configuration."""

Keys: TypeAlias = Sequence[str]
"""Keys from the top of a document down to a value."""

Span: TypeAlias = tuple[int, int]
"""Where some lines of a text start and end."""


class _Form(NamedTuple):
    """How a format is read, a value put into it, and taken out again."""

    read: Callable[[str], Any]
    put: Callable[[str, Keys, Any], str]
    take: Callable[[str, Keys], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """A configuration file of an agent, a row of `agents.toml`.

    Attributes:
        agent: Short name of the agent.
        program: What people call it.
        command: Its program on the PATH.
        base: Folder below which the file lies.
        file: Path below that.
        format: A key of `_FORMS`.
        place: Where the entries are, from the top of the document.
        entry: Form of a server; None where the file has lists.
        lists: Form of an element of each list, by its key.
        sign: What lies in `base` where the agent is here, if others share that folder.
    """

    agent: str
    program: str
    command: str
    base: Base
    file: str
    format: str
    place: tuple[str, ...]
    entry: Any = None
    lists: Mapping[str, Any]
    sign: str = ""

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Returns the folder below which the file lies, by the variables of a process."""
        return self.base.folder(environment, expanded("~"))

    def slots(self, launch: Launch) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Yields where each of our entries has its place, and how it is to look."""
        if self.entry is not None:
            yield self.place, _filled(self.entry, launch)
        for key, shape in self.lists.items():
            yield (*self.place, key), _filled(shape, launch)


def _rows() -> Iterator[AgentFile]:
    text = (files(__package__) / "agents.toml").read_text("utf-8")
    for agent in tomllib.loads(text)["agents"]:
        for row in agent["files"]:
            fields = {**row, "base": Base(**row["base"]), "place": tuple(row["place"])}
            yield AgentFile(
                agent=agent["name"],
                program=agent["program"],
                command=agent["command"],
                **{"lists": {}, **fields},
            )


AGENT_FILES: Final = tuple(_rows())
AGENTS: Final = tuple(dict.fromkeys(row.agent for row in AGENT_FILES))


@dataclass(frozen=True, slots=True)
class Launch:
    """How an agent starts echoless.

    Attributes:
        command: Of this installation, with its first arguments.
        store: What is served, as `echoless mcp` takes it.
        creates: Whether an empty store is made where there is none.
    """

    command: tuple[str, ...]
    store: str
    creates: bool

    @classmethod
    def of(cls, store: str | None) -> Launch:
        """Returns how this installation serves a store, by default one of this user's own.

        Raises:
            UsageError: The store can be no store, or has no folder.
        """
        command = own_command()
        if store is not None and "://" in store:
            return cls(command, store, creates=False)
        own = user_folder("data")
        if store is None and own.is_relative_to(NOWHERE):
            raise UsageError("This user has no home folder. Name a store by --store.")
        path = own / "memory.db" if store is None else expanded(store).absolute()
        if store is not None and not path.parent.is_dir():
            raise UsageError(f"There is no folder {path.parent} for the store. Make it first.")
        locate(path, create=True)
        return cls(command, str(path), creates=not path.is_dir())


def own_command() -> tuple[str, ...]:
    """Returns how this installation is run: by its name where that is on the PATH.

    Never is a module of the folder run in which an agent or Git starts it.
    """
    if shutil.which(NAME) is not None:
        return (NAME,)
    beside = Path(sys.executable).with_name(f"{NAME}.exe" if os.name == "nt" else NAME)
    return (str(beside),) if beside.exists() else (sys.executable, "-P", "-m", NAME)


def _filled(shape: Any, launch: Launch) -> Any:
    """Returns the form of an entry with the command of this installation in it."""
    first, *more = launch.command
    match shape:
        case "{command}":
            return first
        case "{args}":
            return [*more, "mcp", launch.store, *(["--create"] if launch.creates else [])]
        case "{hook}" | "{hook --snapshot}":
            words = shape.strip("{}").replace("hook", "claude-hook", 1).split()
            return f"PYTHONPATH= {shlex.join([*launch.command, *words])} || exit 0"
        case dict():
            return {key: _filled(value, launch) for key, value in shape.items()}
        case list():
            return [_filled(value, launch) for value in shape]
    return shape


# ------------------------------------------------------------------ formats


def _read_json(dialect: str, text: str) -> Any:
    node = document(text, loose=dialect == "json5")
    if dialect == "json" and node is not None:
        json.loads(text.removeprefix("\ufeff"))
    return {} if node is None else node.value


def _lines(text: str, first: int, last: int) -> Span:
    """Returns where lines start and end, without the blank lines and comments at their end."""
    lines = text.split("\n")
    while last > first + 1 and re.match(r"\s*(#|$)", lines[last - 1]):
        last -= 1
    start = sum(len(line) + 1 for line in lines[:first])
    return start, min(len(text), start + sum(len(line) + 1 for line in lines[first:last]))


def _replaced(text: str, span: Span, lines: Sequence[str]) -> str:
    """Returns a text with other lines in a span of whole lines, ended as its lines are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    start, end = span
    apart = newline if start and not text[:start].endswith("\n") else ""
    new = "".join(line + newline for line in lines)
    ended = end == start or text[:end].endswith("\n")
    return text[:start] + apart + (new if ended else new.removesuffix(newline)) + text[end:]


def _toml_span(text: str, path: Keys) -> Span | None:
    """Returns where a table of TOML and those below it stand."""
    name = r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)
    own, lines = rf"[ \t]*\[[ \t]*{name}[ \t]*[\].]", text.split("\n")
    starts = [at for at, line in enumerate(lines) if re.match(own, line)]
    if not starts:
        return None
    inside = rf"(?![ \t]*\[)|{own}"
    more = takewhile(partial(re.match, inside), lines[starts[0] + 1 :])
    return _lines(text, starts[0], starts[0] + 1 + len([*more]))


def _put_toml(text: str, path: Keys, value: Any) -> str:
    fields = (f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in value.items())
    lines, span = [f"[{'.'.join(path)}]", *fields], _toml_span(text, path)
    if span is None and text.strip():
        lines.insert(0, "")
    return _replaced(text, span or (len(text), len(text)), lines)


def _read_yaml(text: str) -> Any:
    from ruamel import yaml as ruamel_yaml

    try:
        return ruamel_yaml.YAML(typ="safe", pure=True).load(text) or {}
    except ruamel_yaml.error.YAMLError as problem:  # it names the line
        raise ValueError(" ".join(str(problem).split())) from None


def _yaml_span(text: str, path: Keys) -> Span | None:
    """Returns where a key of YAML and its block stand; None where the key is missing."""
    from ruamel import yaml as ruamel_yaml

    node, span = ruamel_yaml.YAML(pure=True).compose(text), None
    for key in path:
        if node is None or node.value == "":
            return None
        if not isinstance(node, ruamel_yaml.MappingNode) or node.flow_style:
            raise ValueError(f"what {key} stands in has another form")
        span, lines = None, text.split("\n")
        for name, value in node.value:
            if name.value == key:
                first, inside = name.start_mark.line, rf"\s*(#|$)| {{{name.start_mark.column + 1}}}"
                more = takewhile(partial(re.match, inside), lines[first + 1 :])
                span, node = _lines(text, first, first + 1 + len([*more])), value
        if span is None:
            return None
    return span


def _put_yaml(text: str, path: Keys, value: Any) -> str:
    above, span = _yaml_span(text, path[:1]), _yaml_span(text, path)
    block = text[slice(*above)].partition("\n")[2] if above else ""
    pad = next((line[1] for line in re.finditer(r"^( +)[^\s#]", block, re.MULTILINE)), "  ")
    fields = (f"{key}: {json.dumps(each, ensure_ascii=False)}" for key, each in value.items())
    lines = [f"{pad}{path[1]}:", *(f"{pad}{pad}{field}" for field in fields)]
    if above is None:
        return _replaced(text, (len(text), len(text)), [f"{path[0]}:", *lines])
    behind = text.find("\n", above[0]) + 1 or len(text)  # comments stay with what they are about
    return _replaced(text, span or (behind, behind), lines)


def _without_span(find: Callable[[str, Keys], Span | None], text: str, path: Keys) -> str:
    """Returns a text without the lines of an entry."""
    span = find(text, path)
    if span is None:
        raise ValueError(f"{'.'.join(path)} has another form")
    return text[: span[0]] + text[span[1] :]


_FORMS: Final[Mapping[str, _Form]] = {
    **{each: _Form(partial(_read_json, each), put, take) for each in ("json", "jsonc", "json5")},
    "toml": _Form(tomllib.loads, _put_toml, partial(_without_span, _toml_span)),
    "yaml": _Form(_read_yaml, _put_yaml, partial(_without_span, _yaml_span)),
}


# ------------------------------------------------------------------ our entry

_GONE: Final = object()


def _at(value: Any, path: Keys) -> Any:
    """Returns what stands at a path; None where there is nothing."""
    for key in path:
        if isinstance(value, list):
            value = dict(enumerate(value)).get(int(key) if key.isdecimal() else -1)
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _with(value: Any, path: Keys, new: Any) -> Any:
    """Returns a value in which another one stands at a path, or nothing if it is `_GONE`."""
    key, *rest = path
    if isinstance(value, list):
        at = len(value) if key == NEW_ELEMENT else int(key)
        changed = _with(value[at], rest, new) if rest else new
        return [*value[:at], *([] if changed is _GONE else [changed]), *value[at + 1 :]]
    inner = (value or {}).get(key)
    changed = _with(inner or ([] if rest == [NEW_ELEMENT] else {}), rest, new) if rest else new
    return {k: v for k, v in {**(value or {}), key: changed}.items() if v is not _GONE}


def _edited(form: _Form, text: str, path: Keys, new: Any) -> str:
    """Returns a text with another value at a path, or none if it is `_GONE`.

    Raises:
        ValueError: It could not be written without a change of something else.
    """
    try:
        made = form.take(text, path) if new is _GONE else form.put(text, path, new)
        if form.read(made) == _with(form.read(text), path, new):
            return made
        problem = "something else would change too"
    except ValueError as error:
        problem = str(error)
    by_hand = "remove it" if new is _GONE else f"write {json.dumps(new, ensure_ascii=False)} there"
    raise ValueError(f"{'.'.join(path)} has no place ({problem}), so {by_hand} yourself")


def _runs_echoless(entry: Any) -> bool:
    """Returns whether a server, or a hook that stands alone, runs echoless."""
    match entry:
        case {"transport": dict() as inner} | {"hooks": [dict() as inner]}:
            return _runs_echoless(inner)
        case {"command": str() as command, "args": list() as words}:
            return Path(command).stem == NAME or NAME in words
        case {"command": str() as command}:
            return NAME in command and "claude-hook" in command
    return False


def _own_key(entries: Any) -> str | None:
    """Returns under which key or number our entry stands among others."""
    if isinstance(entries, dict) and NAME in entries:
        return NAME
    listed = enumerate(entries) if isinstance(entries, list) else ()
    pairs = entries.items() if isinstance(entries, dict) else listed
    return next((str(key) for key, entry in pairs if _runs_echoless(entry)), None)


def with_entries(row: AgentFile, text: str, launch: Launch) -> str:
    """Returns the text of a configuration with our entries in it.

    Raises:
        ValueError: It cannot be read, or has another form; the message names the line or the key.
    """
    form = _FORMS[row.format]
    for place, wanted in row.slots(launch):
        entries = _at(form.read(text), place)
        key = _own_key(entries) or (NAME if row.entry is not None else NEW_ELEMENT)
        if _at(entries, [key]) != wanted:
            text = _edited(form, text, (*place, key), wanted)
    return text


def without_entries(row: AgentFile, text: str, before: str) -> str:
    """Returns the text of a configuration with our entries as they were in an earlier text.

    What held nothing but them and was not there before goes too.

    Raises:
        ValueError: As of `with_entries`.
    """
    form = _FORMS[row.format]
    old = form.read(before)
    places = [row.place] if row.entry is not None else [(*row.place, key) for key in row.lists]
    for place in places:
        now, earlier = form.read(text), _at(old, place)
        key, was = _own_key(_at(now, place)), _own_key(earlier)
        if key is None:
            continue
        path: tuple[str, ...] = (*place, key)
        new = _GONE if was is None else _at(earlier, [was])
        while new is _GONE and len(path) > 1 and _at(old, path[:-1]) is None:
            if len(_at(now, path[:-1])) > 1:
                break
            path = path[:-1]
        text = _edited(form, text, path, new)
    return text


# ------------------------------------------------------------------ files

Step = Literal["none", "write", "restore", "take out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """What becomes of one configuration file.

    Attributes:
        row: Of the table.
        path: The file itself, behind links.
        step: What is done: `restore` gives back each byte, `take out` removes our entry alone.
        before: What the file holds; None where there is none.
        after: What it will hold; None where it goes.
        seen: How it looked when it was read.
        original: What it held before our first entry came; None where there was none.
        problem: Why nothing is done.
    """

    row: AgentFile
    path: Path
    step: Step = "none"
    before: bytes | None = None
    after: bytes | None = None
    seen: Snapshot | None = None
    original: bytes | None = None
    problem: EcholessError | None = None

    @property
    def difference(self) -> list[str]:
        """Returns the lines of the difference, in the unified form."""
        texts = [(data or b"").decode("utf-8", "replace") for data in (self.before, self.after)]
        one, other = (text.splitlines() for text in texts)
        return [*difflib.unified_diff(one, other, lineterm="", n=2)][2:]


Making: TypeAlias = Callable[[ConfigChange], ConfigChange]
"""Says what a file that was read is to hold."""


class _Record(NamedTuple):
    """What a file held before our first entry came, and the digest of what was written last."""

    row: AgentFile
    path: Path
    before: bytes | None
    after: str


def _folder() -> Path:
    """Returns the folder of the records."""
    return user_folder("data") / "setup"


def _name(path: Path) -> str:
    """Returns the name of the record of a file."""
    return f"{sha256(os.fsencode(path)).hexdigest()[:16]}.json"


def _records() -> Iterator[_Record]:
    """Yields the records of this user."""
    rows = {(row.agent, row.file): row for row in AGENT_FILES}
    try:
        insist_on_own(_folder())
    except FileNotFoundError:
        return
    except OSError as problem:
        raise StoreReadOnly(f"What files held before is not safe: {problem}.") from problem
    for file in sorted(_folder().glob("*.json")):
        try:
            fields = json.loads(read_bytes(file, linked=False))
            before = None if fields["before"] is None else base64.b64decode(fields["before"])
            row, path = rows[fields["agent"], fields["file"]], Path(fields["path"])
            yield _Record(row, path, before, str(fields["after"]))
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{file} is damaged. Take the entries out by hand, and it too."
            ) from None


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8")


def _reverted(record: _Record, now: bytes | None) -> tuple[bytes | None, Step]:
    """Returns what a file holds without our entries, and how it comes to that."""
    if now is None:
        return None, "none"
    if sha256(now).hexdigest() == record.after:
        return record.before, "restore"
    made = without_entries(record.row, _text(now), _text(record.before)).encode()
    return made, "none" if made == now else "take out"


def files_here(names: Sequence[str] = ()) -> list[AgentFile]:
    """Returns the files of the agents on this machine.

    Args:
        names: Only these agents; all by default.
    """
    here = {
        row.agent
        for row in AGENT_FILES
        if shutil.which(row.command) or (row.folder(os.environ) / row.sign).exists()
    }
    return [row for row in AGENT_FILES if row.agent in here and row.agent in (names or here)]


def _looked(row: AgentFile, path: Path, made: Making) -> ConfigChange:
    """Returns what becomes of a file that is read now, or why nothing does."""
    change = ConfigChange(row=row, path=path)
    try:
        seen = Snapshot.of(path)
        before = None if seen is None else read_bytes(path)
        change = replace(change, before=before, after=before, seen=seen)
        return made(change)
    except EcholessError as problem:
        return replace(change, problem=problem)
    except ValueError as problem:
        where = str(problem)
        if isinstance(problem, UnicodeDecodeError):
            line = problem.object[: problem.start].count(b"\n") + 1
            where = f"not UTF-8 (line {line})"
        return replace(
            change,
            problem=InputError(
                f"{path} was left alone: {where}. Correct it, then run this command again."
            ),
        )


def plan(rows: Sequence[AgentFile], launch: Launch) -> list[ConfigChange]:
    """Returns what would become of files of agents; writes nothing.

    Raises:
        InputError: A record of an earlier time is damaged.
    """
    records = {record.path: record for record in _records()}

    def entered(change: ConfigChange) -> ConfigChange:
        record = records.get(change.path)
        after = with_entries(change.row, _text(change.before), launch).encode()
        return replace(
            change,
            after=after,
            step="none" if after == change.before else "write",
            original=_reverted(record, change.before)[0] if record else change.before,
        )

    paths = [(row, (row.folder(os.environ) / row.file).resolve()) for row in rows]
    return [_looked(row, path, entered) for row, path in paths]


def plan_undo(names: Sequence[str] = ()) -> list[ConfigChange]:
    """Returns what would become of the files that hold our entries; writes nothing.

    Args:
        names: Only those of these agents; all by default.

    Raises:
        InputError: A record is damaged.
    """

    def freed(record: _Record, change: ConfigChange) -> ConfigChange:
        after, step = _reverted(record, change.before)
        return replace(change, after=after, step=step)

    some = [each for each in _records() if not names or each.row.agent in names]
    some.sort(key=lambda record: AGENT_FILES.index(record.row))
    return [_looked(each.row, each.path, partial(freed, each)) for each in some]


def carry_out(change: ConfigChange) -> None:
    """Writes a file as it was planned, and keeps or forgets what it held before.

    Raises:
        StoreChanged: The file changed since it was read; it was left alone.
        StoreError: It cannot be written.
    """
    record = _folder() / _name(change.path)
    if change.step == "write":
        try:
            make_own(record.parent)
        except OSError as problem:
            raise StoreReadOnly(f"What files held before cannot be kept: {problem}.") from problem
        data = change.original
        written = {
            "agent": change.row.agent,
            "file": change.row.file,
            "path": str(change.path),
            "before": None if data is None else base64.b64encode(data).decode(),
            "after": sha256(change.after or b"").hexdigest(),
        }
        refuse_changed(change.path, change.seen)
        replace_bytes(record, json.dumps(written).encode(), Snapshot.of(record))
    if change.step != "none" and change.after is not None:
        make_folders(change.path.parent)
        replace_bytes(change.path, change.after, change.seen)
    elif change.step == "restore":
        refuse_changed(change.path, change.seen)
        change.path.unlink()
    if change.step != "write":
        record.unlink(missing_ok=True)
