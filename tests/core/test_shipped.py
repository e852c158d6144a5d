"""Weights and word lists are used only as they were installed."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import echoless
from echoless.core import shipped
from echoless.core.errors import DamagedPackage


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """echoless as pip would have installed it from a wheel: with the digest of every file."""
    folder = tmp_path / "site"
    shutil.copytree(Path(echoless.__file__).parents[1], folder, ignore=lambda *_: ["__pycache__"])
    about = folder / "echoless-0.2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: echoless\nVersion: 0.2.0\n")
    lines = []
    for path in sorted(each for each in folder.glob("echoless*/**/*") if each.is_file()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
        name = path.relative_to(folder).as_posix()
        lines.append(f"{name},sha256={digest.decode().rstrip('=')},{path.stat().st_size}")
    (about / "RECORD").write_text("\n".join(lines) + "\n")
    return folder


def explain(installed: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "ECHOLESS_CACHE_DIR": str(tmp_path)}
    command = ("explain", "The key is red.", "The key is blue.", "--encoder", "none")
    return subprocess.run(
        [sys.executable, "-m", "echoless", *command],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["lexicon/en.json", "lexicon/forms.json", "lexicon/units.json"])
@pytest.mark.parametrize("change", ["a digit", "gone"])
def test_a_changed_file_of_echoless_is_named_and_not_used(
    installed: Path, tmp_path: Path, name: str, change: str
) -> None:
    """Supply chain: another weight changed verdicts without a word."""
    assert explain(installed, tmp_path).returncode == 0
    path = installed / "echoless" / "matching" / name
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().rstrip() + b" \n\n")
    done = explain(installed, tmp_path)
    assert done.returncode == DamagedPackage.exit_code
    assert str(path) in done.stderr
    assert "pip install --force-reinstall --no-deps echoless" in done.stderr
    assert done.stdout == ""


def test_a_working_copy_lists_no_digests_and_is_not_compared() -> None:
    assert shipped.shipped_json("matching/decision.json")["same"]
