"""Write what a release needs beside the code, from the settings of the project.

The addresses stand in `[project.urls]` of `pyproject.toml`, the version in the package.
`make release-files` writes both into `server.json` and into the pages that name them, and packs
`build/echoless.mcpb`. `--owner NAME` first moves the addresses to that owner on GitHub.
`--check` changes nothing, and ends with code 1 if a file says something else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
VERSION_FILE: Final = "src/echoless/core/versions.py"
BUNDLE: Final = "build/echoless.mcpb"
STAND_IN: Final = "OWNER"
"""Owner of the addresses until a maintainer names one."""
UNOWNED: Final = f"The owner is still {STAND_IN}: `make release-files OWNER=name` sets it."

NAMED: Final = (
    ("README.md", "Version {version} ·"),
    ("README.md", "<!-- mcp-name: io.github.{slug} -->"),
    ("docs/claude-code.md", "/plugin marketplace add {slug}"),
    ("docs/claude-code.md", "`{slug}` is the repository"),
    ("docs/pre-commit.md", "uses: {slug}@v{version}"),
    ("docs/pre-commit.md", "`echoless=={version}`"),
    ("docs/pre-commit.md", "repo: https://github.com/{slug}"),
    ("docs/pre-commit.md", "rev: v{version}"),
    ("plugins/claude-code/.claude-plugin/plugin.json", '"version": "{version}"'),
    ("packages/js/package.json", '"version": "{version}"'),
    ("packages/js/package.json", '"url": "git+https://github.com/{slug}.git"'),
    (
        "plugins/claude-code/.claude-plugin/plugin.json",
        '"repository": "https://github.com/{slug}"',
    ),
)
"""Where else the repository and the version are named, and in which words."""

# https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_SHORT: Final = (
    "A memory for agents that takes no fact twice, finds what is repeated, and can undo."
)
_STORE: Final = (
    "Full path or address of the memory, such as a folder of notes or a database. A file that is "
    "not there is made."
)
# A moment for all files of the bundle, so that the same sources give the same bytes.
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)


def version(root: Path = ROOT) -> str:
    """The version that the package declares."""
    (found,) = re.findall(r'^__version__ = "(.+)"$', (root / VERSION_FILE).read_text("utf-8"), re.M)
    return str(found)


def urls(root: Path = ROOT) -> dict[str, str]:
    """The addresses of the project, by name."""
    with (root / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"]["urls"])


def slug(root: Path = ROOT) -> str:
    """Owner and name of the repository on GitHub."""
    return urls(root)["Repository"].removeprefix("https://github.com/")


def server(root: Path = ROOT) -> dict[str, object]:
    """What the MCP registry lists."""
    now, addresses = version(root), urls(root)
    return {
        "$schema": _SCHEMA,
        "name": f"io.github.{slug(root)}",
        "title": "echoless",
        "description": _SHORT,
        "repository": {"url": addresses["Repository"], "source": "github"},
        "websiteUrl": addresses["Documentation"],
        "version": now,
        "packages": [
            {
                "registryType": "pypi",
                "registryBaseUrl": "https://pypi.org",
                "identifier": "echoless",
                "version": now,
                "runtimeHint": "uvx",
                "runtimeArguments": [
                    {"type": "named", "name": "--with", "value": f"echoless[mcp]=={now}"}
                ],
                "packageArguments": [
                    {"type": "positional", "value": "mcp"},
                    {
                        "type": "positional",
                        "valueHint": "store",
                        "description": _STORE,
                        "format": "string",
                        "isRequired": True,
                    },
                    {"type": "named", "name": "--create"},
                ],
                "transport": {"type": "stdio"},
            }
        ],
    }


def bundle(root: Path = ROOT) -> dict[str, str]:
    """The files of the MCP bundle, by name: uv installs the package when a client starts it."""
    now, addresses = version(root), urls(root)
    manifest = {
        "manifest_version": "0.4",
        "name": "echoless",
        "version": now,
        "description": _SHORT,
        "author": {"name": "echoless contributors"},
        "repository": {"type": "git", "url": addresses["Repository"]},
        "documentation": addresses["Documentation"],
        "support": addresses["Issues"],
        "license": "Apache-2.0",
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run",
                    "--directory",
                    "${__dirname}",
                    "server.py",
                    "mcp",
                    "${user_config.store}",
                    "--create",
                ],
            },
        },
        "tools_generated": True,
        "compatibility": {"runtimes": {"python": ">=3.11"}},
        "user_config": {
            "store": {
                "type": "string",
                "title": "Memory",
                "description": _STORE,
                "default": "${HOME}/agent.db",
                "required": True,
            }
        },
    }
    project = (
        f'[project]\nname = "echoless-bundle"\nversion = "{now}"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["echoless[mcp]=={now}"]\n\n[tool.uv]\npackage = false\n'
    )
    return {
        "manifest.json": _json(manifest),
        "pyproject.toml": project,
        "server.py": "from echoless.cli.main import run\n\nrun()\n",
    }


def written(root: Path = ROOT) -> dict[str, str]:
    """The text that each file of the repository should have, by path."""
    texts = {"server.json": _json(server(root))}
    values = {"slug": slug(root), "version": version(root)}
    for path, words in NAMED:
        text = texts.get(path) or (root / path).read_text("utf-8")
        told, count = _any(words).subn(lambda _, words=words: words.format(**values), text)
        if not count:
            sys.exit(f"{path} no longer says `{words}`; tools/release_files.py expects it there.")
        texts[path] = told
    return texts


def differing(root: Path = ROOT) -> list[str]:
    """Paths of the files that say something else than the settings."""
    return sorted(
        path
        for path, text in written(root).items()
        if not (root / path).exists() or (root / path).read_text("utf-8") != text
    )


def write(root: Path = ROOT) -> None:
    """Write all of them."""
    for path, text in written(root).items():
        (root / path).write_text(text, "utf-8")


def pack(root: Path = ROOT) -> Path:
    """Pack the MCP bundle."""
    path = root / BUNDLE
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in bundle(root).items():
            file.writestr(zipfile.ZipInfo(name, _MOMENT), text)
    return path


def move(owner: str, root: Path = ROOT) -> None:
    """Make the addresses of the project those of another owner."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}", owner):
        sys.exit(f"{owner!r} is not the name of an owner on GitHub.")
    path = root / "pyproject.toml"
    old, new = f"https://github.com/{slug(root)}", f"https://github.com/{owner}/echoless"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def _any(words: str) -> re.Pattern[str]:
    """The same words with any repository and any version."""
    told = re.escape(words)
    told = told.replace(re.escape("{slug}"), r"[\w.-]+/echoless")
    return re.compile(told.replace(re.escape("{version}"), r"\d+\.\d+\.\d+"))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(words: list[str]) -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--owner", help="the owner of the repository on GitHub")
    parser.add_argument("--check", action="store_true", help="change nothing")
    told = parser.parse_args(words)
    if told.check:
        for path in differing():
            print(f"{path} differs from the settings; `make release-files`.", file=sys.stderr)
        return 1 if differing() else 0
    if told.owner:
        move(told.owner)
    write()
    print(f"Packed {pack().relative_to(ROOT)}.")
    if slug().startswith(f"{STAND_IN}/"):
        print(UNOWNED)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
