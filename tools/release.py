"""Make a release: its version, its section of the changelog, its commit and its tag.

`make release VERSION=0.4.0` does so in the clean working tree and pushes nothing. It names the
two commands that do. Where something stands against it, it says so in one sentence and changes
nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from tools import release_files

_FORM: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_OPEN: Final = "## Unreleased\n"


def release(version: str, root: Path, today: date) -> None:
    """Make it, or end with the sentence that says why not."""
    if problem := refusal(version, root):
        sys.exit(problem)
    path = root / release_files.VERSION_FILE
    now = release_files.version(root)
    text = path.read_text("utf-8")
    path.write_text(text.replace(f'__version__ = "{now}"', f'__version__ = "{version}"'), "utf-8")
    log = root / "CHANGELOG.md"
    closed = f"{_OPEN}\n## {version} ({today.isoformat()})\n"
    log.write_text(log.read_text("utf-8").replace(_OPEN, closed, 1), "utf-8")
    release_files.write(root)
    _git(root, "commit", "--quiet", "--all", "--message", f"release: {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"echoless {version}")


def refusal(version: str, root: Path) -> str | None:
    """Why this version cannot be released from this working tree."""
    if not _FORM.fullmatch(version):
        return f"{version!r} is not a version such as 0.4.0: `make release VERSION=0.4.0`."
    now = release_files.version(root)
    if _numbers(version) <= _numbers(now):
        return f"{version} is not newer than {now}."
    if release_files.slug(root).startswith(f"{release_files.STAND_IN}/"):
        return release_files.UNOWNED
    if _git(root, "status", "--porcelain"):
        return "The working tree has changes: commit or stash them first."
    if _git(root, "tag", "--list", f"v{version}"):
        return f"There is a tag v{version} already."
    _, found, rest = (root / "CHANGELOG.md").read_text("utf-8").partition(_OPEN)
    if not found or not rest.partition("\n## ")[0].strip():
        return "CHANGELOG.md has nothing under Unreleased to close."
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("."))


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {words[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


def main(words: list[str]) -> None:
    """Release the version that is named, and say what is left to do."""
    version = words[0] if words else ""
    release(version, release_files.ROOT, datetime.now(UTC).date())
    print(f"Tagged v{version}. To publish: `git push` and `git push origin v{version}`.")


if __name__ == "__main__":
    main(sys.argv[1:])
