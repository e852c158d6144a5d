"""Write `dist/echoless.cdx.json`: what the default installation consists of, in CycloneDX 1.6.

`python tools/sbom.py` reads `constraints-hashes.txt` and asks the installed packages for their
licences; it needs no network. A file with several digests is several files of one version.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Final

from tools import hashes, release_files

FILE: Final = "dist/echoless.cdx.json"

# https://cyclonedx.org/docs/1.6/json
_FORMAT: Final = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}


def bill() -> dict[str, object]:
    """The bill of materials."""
    now = release_files.version()
    product = {**_component("echoless", now), "type": "application"}
    parts = [_part(key, each) for key, each in sorted(hashes.listed().items())]
    return {**_FORMAT, "metadata": {"component": product}, "components": parts}


def _part(key: str, pinned: hashes.Pinned) -> dict[str, object]:
    # A hash of a component is that of one file; of several files, each is a file to fetch.
    fetched = [
        {
            "type": "distribution",
            "url": f"https://pypi.org/project/{key}/{pinned.version}/",
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
        for digest in pinned.digests
    ]
    return {**_component(key, pinned.version), "externalReferences": fetched}


def _component(key: str, version: str) -> dict[str, object]:
    purl = f"pkg:pypi/{key}@{version}"
    told: dict[str, object] = {
        "type": "library",
        "bom-ref": purl,
        "name": key,
        "version": version,
        "purl": purl,
    }
    return told | _licences(key)


def _licences(key: str) -> dict[str, object]:
    try:
        known = metadata(key)
    except PackageNotFoundError:  # of another platform
        return {}
    if expression := known.get("License-Expression"):
        return {"licenses": [{"expression": expression}]}
    named = [
        line.rpartition(" :: ")[2]
        for line in known.get_all("Classifier") or ()
        if line.startswith("License :: ")
    ] or [line.strip() for line in (known.get("License") or "").splitlines()[:1] if line.strip()]
    return {"licenses": [{"license": {"name": name}} for name in named]} if named else {}


def main(words: list[str]) -> None:
    """Write it to the file that is named, or to `dist`."""
    path = Path(words[0]) if words else release_files.ROOT / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(), indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
