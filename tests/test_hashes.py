"""What the default installation needs is pinned by digest, for every platform."""

import re
from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.markers import Marker
from tools import hashes

LISTED = hashes.listed()


def test_all_that_the_default_installation_needs_is_listed_with_its_digests() -> None:
    """Supply chain: constraints.txt pinned versions, so an index could hand out another file."""
    needed = hashes.needed()
    assert {"click", "numpy", "mdurl", "threadpoolctl"} <= needed.keys()
    assert {key: each.marker for key, each in LISTED.items()} == {
        key: str(Marker(marker)) if marker else "" for key, marker in needed.items()
    }
    assert all(each.digests for each in LISTED.values())


def test_versions_are_those_of_the_constraints() -> None:
    pins = hashes.pins()
    assert {key: (each.name, each.version) for key, each in LISTED.items()} == {
        key: pins[key] for key in LISTED
    }


@pytest.mark.parametrize("name", sorted(LISTED))
def test_what_is_installed_here_is_what_is_listed(name: str) -> None:
    try:
        installed = version(name)
    except PackageNotFoundError:
        assert not Marker(LISTED[name].marker).evaluate(), f"{name} is missing"
    else:
        assert installed == LISTED[name].version


def test_any_index_will_do() -> None:
    text = hashes.HASHES.read_text("utf-8")
    assert not re.search(r"://|^-|@", text, re.MULTILINE)
    assert text == hashes._HEAD + "\n" + "".join(each.lines() for each in LISTED.values())
