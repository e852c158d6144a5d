"""Write `constraints-hashes.txt`: what echoless needs to run, with the digest of every file of it.

`python tools/hashes.py` asks the package index that pip is set to for each package of the default
installation, at the version `constraints.txt` names. It needs the packages to be
installed, as they tell what they need. `--check` changes nothing, and ends with code 1 if the
index names another digest for a file than the list does.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Final

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

ROOT: Final = Path(__file__).parents[1]
PINS: Final = ROOT / "constraints.txt"
HASHES: Final = ROOT / "constraints-hashes.txt"

_JSON: Final = "application/vnd.pypi.simple.v1+json"  # PEP 691
_HEAD: Final = """\
# What `echoless` needs to run, for `pip install --require-hashes -r constraints-hashes.txt`:
# each package at the version of constraints.txt, with the SHA-256 of every file of that version.
# Written by `make hashes`.
"""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A package of the default installation.

    Attributes:
        name: As `constraints.txt` writes it.
        version: As pinned there.
        marker: Where it is needed, or an empty text for everywhere.
        digests: SHA-256 of its files, in hexadecimal digits, sorted.
    """

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]

    def lines(self) -> str:
        """Its lines in the list."""
        where = f" ; {self.marker}" if self.marker else ""
        told = " \\\n".join(f"    --hash=sha256:{each}" for each in self.digests)
        return f"{self.name}=={self.version}{where} \\\n{told}\n"


_PYTHONS: Final = [
    {"python_version": each, "python_full_version": f"{each}.0"} for each in ("3.11", "3.13")
]
"""The oldest and the newest Python that is supported."""
_OTHER: Final = re.compile("extra|platform|system|os_name|implementation")


def pins(path: Path = PINS) -> dict[str, tuple[str, str]]:
    """Name as written, and version, by normalised name."""
    pairs = (line.split("==") for line in path.read_text("utf-8").split() if "==" in line)
    return {canonicalize_name(name): (name, version) for name, version in pairs}


def needed() -> dict[str, str]:
    """The closure of the default installation on every platform: marker by normalised name."""
    found: dict[str, str] = {}
    waiting = [("echoless", frozenset[str](), "")]
    while waiting:
        name, extras, outer = waiting.pop()
        try:
            told = requires(name) or ()
        except PackageNotFoundError:  # of another platform: what pins it lists has no needs
            continue
        for line in told:
            requirement = Requirement(line)
            if requirement.marker and not _wanted(requirement.marker, extras):
                continue
            key = canonicalize_name(requirement.name)
            marker = _platform(requirement.marker) or outer
            if key not in found or (found[key] and not marker):
                found[key] = marker
                waiting.append((key, frozenset(requirement.extras), marker))
    return found


def _wanted(marker: Marker, extras: frozenset[str]) -> bool:
    """Whether a requirement stands without an extra, or for one of these, on any platform."""
    if not any(map(marker.evaluate, _PYTHONS)) and not _OTHER.search(str(marker)):
        return False
    named = set(re.findall(r"extra\s*==\s*['\"]([^'\"]+)['\"]", str(marker)))
    return not named or bool(named & extras)


def _platform(marker: Marker | None) -> str:
    told = str(marker or "")
    return "" if "extra" in told else told


def listed(path: Path = HASHES) -> dict[str, Pinned]:
    """What the list holds, by normalised name."""
    found = {}
    for entry in re.split(r"\n(?=\S)", path.read_text("utf-8").replace("\\\n", "")):
        if not entry.startswith("#"):
            requirement = Requirement(entry.partition("--hash")[0])
            (version,) = (each.version for each in requirement.specifier)
            digests = tuple(re.findall(r"sha256:([0-9a-f]{64})", entry))
            marker = str(requirement.marker or "")
            key = canonicalize_name(requirement.name)
            found[key] = Pinned(requirement.name, version, marker, digests)
    return found


def asked() -> dict[str, Pinned]:
    """The same, as the index of today has it."""
    known = pins()
    missing = sorted(needed().keys() - known.keys())
    if missing:
        sys.exit(f"{PINS.name} names no version of: {', '.join(missing)}. Add one of each.")
    return {
        key: Pinned(known[key][0], known[key][1], marker, _digests(key, known[key][1]))
        for key, marker in sorted(needed().items())
    }


def _digests(key: str, version: str) -> tuple[str, ...]:
    request = urllib.request.Request(f"{_index()}/{key}/", headers={"Accept": _JSON})
    context = ssl.create_default_context(cafile=_pip_setting("cert"))
    with urllib.request.urlopen(request, context=context, timeout=60) as answer:
        told: Mapping[str, list[Mapping[str, object]]] = json.load(answer)
    found = set[str]()
    for file in told["files"]:
        hashes = file.get("hashes")
        if _version(str(file["filename"])) == version and isinstance(hashes, dict):
            found.add(str(hashes["sha256"]))
    if not found:
        sys.exit(f"The index has no file of {key} {version}.")
    return tuple(sorted(found))


def _version(filename: str) -> str:
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except ValueError:  # an installer of old, an egg
        return ""


def _index() -> str:
    """The index pip is set to, or its own default."""
    return (_pip_setting("index-url") or _own_index()).rstrip("/")


def _own_index() -> str:
    code = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def _pip_setting(name: str) -> str | None:
    if told := os.environ.get(f"PIP_{name.upper().replace('-', '_')}"):
        return told
    for section in ("global", "install"):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", f"{section}.{name}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def main(*, check: bool) -> int:
    """Write the list, or compare it with the index."""
    try:
        now = asked()
    except urllib.error.URLError as problem:
        print(f"The package index cannot be reached ({problem}).", file=sys.stderr)
        return 2
    if not check:
        HASHES.write_text(_HEAD + "\n" + "".join(each.lines() for each in now.values()), "utf-8")
        return 0
    wrong = [key for key, each in listed().items() if not _agrees(each, now.get(key))]
    wrong += sorted(now.keys() - listed().keys())
    for key in wrong:
        print(f"{key}: the index and {HASHES.name} disagree; `make hashes`.", file=sys.stderr)
    return 1 if wrong else 0


def _agrees(ours: Pinned, theirs: Pinned | None) -> bool:
    """A mirror may lack files, and one may be added later: some have to be the same."""
    return (
        theirs is not None
        and ours.version == theirs.version
        and bool(set(ours.digests) & set(theirs.digests))
    )


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
