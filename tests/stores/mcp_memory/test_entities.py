"""Entities that may be one are named, and never merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from echoless import open_store
from echoless.stores.mcp_memory.graph_lines import name_key
from tests.stores.mcp_memory.graphs import written

ENTITIES = [
    ("Auth Service", "service", ["Listens on port 8443", "Is written in Go"]),
    ("auth-service", "Service", ["Listens on port 8443", "Belongs to team Platform"]),
    ("Ingrid", "person", ["Likes tea"]),
    ("AuthService", "service", ["Restarts at night", "Belongs to team Platform"]),
    ("auth-service v2", "service", ["Is written in Rust"]),
    ("Auth Service", "team", ["Has five members"]),
]
RELATIONS = [
    ("Ingrid", "auth-service", "maintains"),
    ("AuthService", "auth-service", "alias of"),
    ("Ingrid", "AuthService", "maintains"),
    ("auth-service", "Ingrid", "pages"),
    ("Ingrid", "Ingrid", "knows"),
]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Auth Service", "auth-service", True),
        ("AuthService", "auth_service", True),
        ("GitHub", "github", True),
        ("node.js", "Node JS", True),
        ("API v1", "API v2", False),
        ("auth-staging", "auth-prod", False),
        ("release 1.2", "release 12", False),
        ("user 1", "user 11", False),
        ("C", "C++", False),
        ("C#", "C++", False),
        ("service", "services", False),
        (".NET", "NET", False),
        ("李雷", "李 雷", True),
    ],
)
def test_names_are_near_equal_by_case_and_separators_alone(
    one: str, other: str, same: bool
) -> None:
    assert (name_key(one) == name_key(other)) is same


def test_an_audit_of_the_observations_names_the_entities_that_may_be_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(written(ENTITIES, [*RELATIONS, RELATIONS[0], ("Ingrid", "Oslo", "lives in")]))
    with open_store(path) as store:
        list(store.scan())
        told = "\n".join(store.remarks())
    assert "'Auth Service' = 'AuthService' = 'auth-service'" in told
    assert "let the agent move" in told
    assert "stand more than once: 1 (Ingrid -maintains-> auth-service)" in told
    assert "not in the file: 1 (Ingrid -lives in-> Oslo)" in told
