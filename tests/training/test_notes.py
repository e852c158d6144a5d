"""Labels come back to their notes, also to those in strings of code and data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from training.notes import digest, notes_of, rejoined

FILES = {
    "notes.md": (
        "# Notes\n\n- The parcels leave at noon. The office closes at five.\n\n"
        "```python\nremember('Kim likes green tea')\n```\n"
    ),
    "memory.json": json.dumps({"user": {"facts": ["Kim lives in Lyon", "Kim moved there in May"]}}),
    "memory.jsonl": '{"text": "Kim has two cats"}\nno JSON\n{"text": "Kim sold the old car"}\n',
    "tests/facts.py": 'FACT = "Kim works as a " "nurse"\nMORE = """\n- Kim sings on Fridays\n"""\n',
    "broken.py": "def (:\n    'Kim has no garden'\n",
    "seed.sql": "INSERT INTO memory VALUES (1, 'Kim''s sister is Ana');\n",
    "tasks.yaml": "facts: |\n  Kim runs each morning\n  Kim swims on Sundays\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> dict[str, Any]:
    """Returns a repository with a note in every kind of file."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    git = ["git", "-c", "user.name=Kim", "-c", "user.email=kim@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Notes"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    return {"git": str(tmp_path / ".git"), "commit": "HEAD", "files": list(FILES)}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The parcels leave at noon. The office closes at five.", "The parcels leave at noon."),
        ("The office closes at five.", "Kim likes green tea"),
        ("Kim lives in Lyon", "Kim moved there in May"),
        ("Kim has two cats", "Kim sold the old car"),
        ("Kim works as a nurse", "Kim sings on Fridays"),
        ("Kim has no garden", "Kim's sister is Ana"),
        ("Kim runs each morning", "Kim swims on Sundays"),
    ],
)
def test_a_label_finds_its_notes_again(
    repository: dict[str, Any], tmp_path: Path, a: str, b: str
) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps({"a": digest(a), "b": digest(b), "label": "C"}), "utf-8")
    assert list(rejoined([repository], labels)) == [
        {"a": a, "b": b, "label": "C", "class": "sibling"}
    ]


def test_notes_are_drawn_from_whole_passages_only(repository: dict[str, Any]) -> None:
    repository["files"] = ["notes.md", "memory.json", "memory.jsonl"]
    assert list(notes_of(repository)) == [
        ("The parcels leave at noon. The office closes at five.", "notes.md")
    ]
