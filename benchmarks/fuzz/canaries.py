"""Files beside and above a store which no input may change, read out or run.

They stand for what a person has on a machine when somebody hands over a folder. An input names them
(`..`, absolute, through links); what they say is in no output and in no other file afterwards.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.fuzz.model import Wrong

SECRET: Final = "quokka heron"
"""Stands in every canary and in no input."""

_BULLETS: Final = f"# Diary\n\n- My {SECRET} sleeps at noon.\n- my {SECRET} sleeps at noon\n"
_LINE: Final = '{"id": "c-%d", "content": "My ' + SECRET + ' sleeps at noon."}\n'

CANARIES: Final = {
    "home/.bashrc": f"alias x=y\n# my {SECRET}\n",
    "home/.claude/CLAUDE.md": _BULLETS,
    "home/.ssh/id_rsa": f"-----BEGIN my {SECRET}-----\n",
    "victim/diary.md": _BULLETS,
    "victim/known.txt": f"my {SECRET}\n",
    "victim/notes.jsonl": _LINE % 1 + _LINE % 2,
}

STAMP: Final = 1_700_000_000
"""Time of change of all files of a case, in seconds."""

MARKER: Final = "executed"
"""A file that is there once something of an input was run."""

RUNS: Final = f"touch {MARKER}"
HERE: Final = "benchmarks.fuzz.canaries"
"""Name of this module: an input asks for its function and its class, and for nothing else."""


def ran(*_given: object) -> None:
    """Leaves the marker: the only thing that an input asks to be called."""
    Path(MARKER).touch()


class Within:
    """What an input asks to be made, or a name within it to be called."""

    ran = staticmethod(ran)

    def __setstate__(self, _state: object) -> None:
        """Leaves the marker, as a reader of pickles would call it."""
        ran()


RELATIVE: Final = tuple(f"../{name}" for name in CANARIES)
ABSOLUTE: Final = tuple(f"/proc/self/cwd/{name}" for name in CANARIES)
"""Absolute, and the same wherever the folder of a case lies."""

NEW: Final = ("../victim/new.md", "../home/.ssh/authorized_keys", "/proc/self/cwd/victim/new.md")
THROUGH_LINKS: Final = ("link/diary.md", "link/known.txt", "link/new.md", "one.md", "gone.md")
ODD: Final = (
    "sub/../../victim/diary.md", "./CLAUDE.md", "CLAUDE.md/../../victim/known.txt", "~/.bashrc",
    "..\\victim\\known.txt", "archive/../../victim/diary.md", "", ".", "..", "archive", "/",
    "../victim", "a\0b", "\udc80.md", "x" * 300, "a/" * 200 + "b.md", "../clone/CLAUDE.md",
    "CLAUDE.md.echoless", "../CLAUDE.md", ".git/hooks/post-checkout", "con\nfig.md",
)  # fmt: skip
PATHS: Final = (*RELATIVE, *ABSOLUTE, *NEW, *THROUGH_LINKS, *ODD)
"""What a hostile file says where the name of a file of the store belongs."""

LINK: Final = b"\0link:"
FIFO: Final = b"\0fifo"
FOLDER: Final = b"\0folder"
"""The content of a file of a case that is to be a link to what follows, a FIFO or a folder."""

_MAY_FILL: Final = ("home/.cache", "home/.local", "home/.config")


def plant(place: Path) -> None:
    """Writes the canaries into the folder of a case."""
    for name, text in CANARIES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o640)
        os.utime(path, (STAMP, STAMP))


def special(path: Path, data: bytes) -> bool:
    """Makes a link, a FIFO or a folder, where the content of a file of a case says so."""
    if data.startswith(LINK):
        path.symlink_to(data.removeprefix(LINK).decode())
    elif data == FIFO:
        os.mkfifo(path)
    elif data == FOLDER:
        path.mkdir()
    else:
        return False
    return True


def disturbed(door: str) -> Iterator[Wrong]:
    """Tells what a door did to the canaries in the current folder, or with what they say."""
    if not Path("victim").exists():
        return  # a case without canaries, in a test of the fuzzer
    for name, text in CANARIES.items():
        path = Path(name)
        if not path.is_file() or path.is_symlink():
            yield Wrong("canary touched", door, f"removed {name}")
            continue
        status = path.stat()
        if path.read_text("utf-8") != text:
            yield Wrong("canary touched", door, f"changed {name}", "", path.read_text()[-300:])
        elif stat.S_IMODE(status.st_mode) != 0o640 or status.st_mtime != STAMP:
            yield Wrong("canary touched", door, f"changed mode or time of {name}")
    yield from _left_behind(door)


def _left_behind(door: str) -> Iterator[Wrong]:
    """Tells of files that hold what a canary says, lie beside one, or were made by a command."""
    for path in sorted(Path().rglob("*")):
        name = path.as_posix()
        if path.name == MARKER:
            yield Wrong("executed", door, "ran a command of the case", "", name)
        if path.is_symlink() or not path.is_file() or name in CANARIES:
            continue
        if name.startswith(("victim/", "home/")) and not name.startswith(_MAY_FILL):
            yield Wrong(
                "canary touched", door, f"made a file beside {name.split('/')[0]}", "", name
            )
        elif SECRET.encode() in path.read_bytes():
            yield Wrong("canary read out", door, f"copied to a {path.suffix} file", "", name)


def told_by(door: str, printed: str) -> Iterator[Wrong]:
    """Tells where an output says what a canary says."""
    at = printed.find(SECRET)
    if at >= 0:
        yield Wrong("canary read out", door, "printed it", "", printed[max(0, at - 300) : at + 80])
