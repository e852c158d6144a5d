"""Patches: what a plan would change in a store of text files, as a unified diff for `git apply`.

The plan is carried out by the executor on a private copy of the files and the ledger; what differs
afterwards is the patch. Format: https://git-scm.com/docs/diff-format.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Final

from echoless.core.database_copies import copied, refuse_large
from echoless.core.errors import StoreError, UsageError
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan
from echoless.stores.base import Store, TextFiles
from echoless.stores.files import read_bytes, speaking_of
from echoless.stores.registry import open_store
from echoless.stores.sidecar import SUFFIX

_EXACT: Final = "iso-8859-1"
"""Encoding with one character for each byte: a diff of such texts is a diff of bytes."""

_OWN: Final = re.compile(rf".*{re.escape(SUFFIX)}(-[a-z]+)?|\..+\.lock", re.DOTALL)
"""Names of the files echoless lays beside a store: ledger, its journals, records and locks."""

_QUOTED: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Changes of text files, not made yet.

    Attributes:
        data: A unified diff with paths `a/…` and `b/…`; empty if no text would change.
        folder: What these paths are relative to.
        files: How many files differ.
        run: What the executor did on the copy; its id is of no use.
    """

    data: bytes
    folder: Path
    files: int
    run: Run


def check_text_files(store: Store) -> None:
    """Refuses a store that is no text file and no folder of text files.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(store, TextFiles):
        raise UsageError(
            f"{store.url} is not made of text files, so there is nothing to patch. Preview it with "
            "`echoless dedup STORE`, or write a plan with --plan FILE."
        )


def make_patch(store: Store, plan: Plan, *, folder: Path) -> Patch:
    """Returns what `apply` would change in the files of a store; changes nothing.

    Args:
        store: The store the plan was made for.
        plan: Stays unused.
        folder: Where the patch will be applied, as an absolute path. A store that does not lie
            below it gets paths relative to its own folder.

    Raises:
        UsageError: The store is not made of text files.
        StoreError: A file cannot be read, there is no space for the copy, or a write to the store
            was interrupted.
    """
    check_text_files(store)
    assert isinstance(store, TextFiles)
    if store.unfinished():
        raise StoreError(
            f"A program was stopped in the middle of a write to {store.url}. Run `echoless check` "
            "on it first, then make the patch. Nothing was changed."
        )
    root, folder = store.root, folder.resolve()
    own = root if root.is_dir() else root.parent
    base = folder if root.is_relative_to(folder) else own
    with tempfile.TemporaryDirectory(prefix="echoless-") as made:
        place = Path(made).resolve()
        before = _copy(store, place)
        with open_store(store.url_at(place / root.name)) as copy:
            run = apply(copy, replace(plan, store=copy.identity, url=copy.url))
        texts = (p for p in place.rglob("*") if p.is_file() and not _OWN.fullmatch(p.name))
        after = {path.relative_to(place) for path in texts}
        parts: list[bytes] = []
        for each in sorted(before | after):
            name = (root.parent / each).relative_to(base).as_posix()
            if part := _file_part(name, root.parent / each, place / each, each in before):
                parts.append(part)
    return Patch(data=b"".join(parts), folder=base, files=len(parts), run=run)


def _copy(store: TextFiles, place: Path) -> set[Path]:
    """Copies files and ledger of a store into a folder.

    Returns:
        The paths of the text files, relative to the folder the store lies in.
    """
    root, names = store.root, set[Path]()
    refuse_large(sum(path.lstat().st_size for path in store.text_files()), root)
    if root.is_dir():
        (place / root.name).mkdir()
    for path in store.text_files():
        name = path.relative_to(root.parent)
        with speaking_of(path):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            # with its time, which a store may read
            shutil.copy2(path, place / name, follow_symlinks=False)
        names.add(name)
    ledger = store.ledger_file
    if ledger is not None and ledger.exists():
        target = (place / ledger.resolve().relative_to(root.parent)).parent
        target.mkdir(parents=True, exist_ok=True)
        private = copied(ledger)
        for part in sorted(private.path.parent.iterdir()):
            shutil.move(part, target / part.name)
        private.discard()
    return names


def _file_part(name: str, old: Path, new: Path, existed: bool) -> bytes:
    """Returns the part of a patch about one file; empty where nothing differs.

    Args:
        name: Path of the file in the patch.
        old: The file as it is.
        new: The file of the copy.
        existed: Whether the store has the file now.
    """
    exists = new.exists()
    before = read_bytes(old) if existed else b""
    after = read_bytes(new) if exists else b""
    if existed and exists and before == after:
        return b""
    head = [f"diff --git {_quoted('a/' + name)} {_quoted('b/' + name)}"]
    if not existed:
        head.append(f"new file mode {_mode(new)}")
    elif not exists:
        head.append(f"deleted file mode {_mode(old)}")
    hunks = "".join(_hunks(before.decode(_EXACT), after.decode(_EXACT)))
    if hunks:
        head.append("--- " + (_named("a/" + name) if existed else "/dev/null"))
        head.append("+++ " + (_named("b/" + name) if exists else "/dev/null"))
    lines = "".join(line + "\n" for line in head)
    return lines.encode("utf-8", "surrogateescape") + hunks.encode(_EXACT)


def _hunks(before: str, after: str) -> Iterator[str]:
    """Yields the changed places of a text with three lines around each."""
    for line in list(unified_diff(_lines(before), _lines(after)))[2:]:  # the head is written above
        yield line
        if not line.endswith("\n"):
            yield "\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Returns the lines of a text with their ends; only a line feed ends one, as for git."""
    *ended, last = text.split("\n")
    return [line + "\n" for line in ended] + ([last] if last else [])


def _mode(path: Path) -> str:
    """Returns the mode git knows a file by."""
    return "100755" if path.stat().st_mode & 0o100 else "100644"


def _named(name: str) -> str:
    """Returns a path after `---` or `+++`; a tab ends one with a space in it, as in git's own."""
    quoted = _quoted(name)
    return quoted + "\t" if quoted == name and " " in name else quoted


def _quoted(name: str) -> str:
    """Returns a path as git writes it: quoted like a C string where a sign would mislead."""
    if not any(sign in _QUOTED or ord(sign) < 32 or ord(sign) == 127 for sign in name):
        return name
    signs = (_QUOTED.get(s, f"\\{ord(s):03o}" if ord(s) < 32 or ord(s) == 127 else s) for s in name)
    return f'"{"".join(signs)}"'
