"""Pages of the site that lie outside `docs/`: results of benchmarks, and links to source files.

`mkdocs build` calls these functions (`hooks` in `mkdocs.yml`).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = "benchmarks/results"
_LINK: Final = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_NAMED: Final = re.compile(r"^(?P<fence>```\w+) +(?P<name>[\w.-]+)$", re.MULTILINE)
"""A block that is a file: the language, then its name."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the results of benchmarks, which are written beside the benchmarks, as pages."""
    for path in sorted((ROOT / RESULTS).glob("*")):
        if path.suffix in {".md", ".svg"}:
            name = f"results/{path.name}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - the signature of mkdocs
    """Points links to results at their pages; shows other files of the project by their path."""
    here = posixpath.dirname(page.file.src_uri)

    def rewritten(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith(("mailto:", "/")):
            return match.group()
        whole = posixpath.normpath(posixpath.join("docs", here, target))
        if page.file.src_uri.startswith("results/"):
            whole = posixpath.normpath(posixpath.join(RESULTS, target))
        if whole.startswith(f"{RESULTS}/"):
            name = f"results/{whole.removeprefix(f'{RESULTS}/')}"
            if files.get_file_from_path(name):
                return f"[{match['text']}]({posixpath.relpath(name, here or '.')})"
        inside = whole.removeprefix("docs/")
        if whole.startswith("docs/") and files.get_file_from_path(inside):
            link = posixpath.relpath(inside, here or ".")
            return f"[{match['text']}]({link}{match['anchor'] or ''})"
        return f"{match['text']} (`{whole}`)" if match["text"] != whole else f"`{whole}`"

    return _LINK.sub(rewritten, _NAMED.sub(r'\g<fence> title="\g<name>"', markdown))
