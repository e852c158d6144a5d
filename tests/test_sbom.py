"""The bill of materials names what the default installation consists of."""

from __future__ import annotations

import json
from pathlib import Path

from tools import hashes, sbom

LISTED = hashes.listed()


def test_each_package_is_named_with_its_version_and_every_digest(tmp_path: Path) -> None:
    sbom.main([str(tmp_path / "echoless.cdx.json")])
    told = json.loads((tmp_path / "echoless.cdx.json").read_text("utf-8"))
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    assert {
        part["purl"]: tuple(each["hashes"][0]["content"] for each in part["externalReferences"])
        for part in told["components"]
    } == {f"pkg:pypi/{key}@{each.version}": each.digests for key, each in LISTED.items()}
    assert told["metadata"]["component"]["licenses"] == [{"expression": "Apache-2.0"}]


def test_a_package_that_is_installed_here_names_its_licence() -> None:
    (click,) = [part for part in sbom.bill()["components"] if part["name"] == "click"]
    assert click["licenses"] == [{"expression": "BSD-3-Clause"}]
