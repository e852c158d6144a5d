"""Runs the network over pairs of texts: tokens, embeddings, ONNX Runtime.

The files lie beside this module and are listed with their digests in `manifest.json`; how they are
made is in `training/`. One pair goes through the network at a time and at its own length, on one
thread: so its scores hang neither on the pairs beside it nor on the number of threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from echoless.core.errors import DamagedPackage
from echoless.core.model import Side, digest
from echoless.core.optional import is_installed, require_module
from echoless.core.shipped import first_changed, shipped_json
from echoless.core.text import ByText
from echoless.matching.fields import fields_of
from echoless.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

Logits = tuple[float, float, float, float]

MODULE: Final = "onnxruntime"
"""Import name of ONNX Runtime; some platforms have no wheel of it."""
LONGEST: Final = 256
"""Tokens of a pair with its three special ones; a longer pair is not scored. Training saw 192."""
LONGEST_TEXT: Final = 4_000
"""Characters of a text; a longer one cannot fit and is not cut into tokens."""
_KNOWN: Final = 500_000
"""Characters of the texts whose tokens are remembered: some 5 MB of tokens."""
_PAIRS: Final = 4_096
"""Pairs whose logits are remembered, some 5 MB: the memories that an agent recalls come again."""
NOT_ASKED: Final = -16.0
"""Logit of what was not asked; no answer is so low."""
MAY_REPLACE: Final = -3.0
"""Logit of a conflict, inclusive, from which it is asked whether one text replaces the other. So
half of the pairs of known order are asked, and of 147 that are told 1 is not (November 2026)."""
MAY_HOLD: Final = -4.5
"""Logit up to which it is asked, inclusive, where one text may hold the other. Far rewordings lie
above it: of 12 false alarms in 40 plans and stores 9, and all 5 in the bundled sample."""
WEIGHTS: Final = Path(__file__).parent / "weights"
_LEARNED: Final = ("matching/pair_model/weights/manifest.json", "matching/decision.json")
"""Files of echoless that were fitted to data and on which a verdict depends."""
_FUSIONS: Final = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
"""Fusions of ONNX Runtime that are switched off: on x86 their kernel took five times as long as
the two nodes it replaces (ONNX Runtime 1.32, 64 tokens, November 2026)."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the weights say of themselves.

    Attributes:
        name: Name of the model.
        start: Number of the token that begins a pair.
        end: Number of the token that ends a text.
        digest: SHA-256 over the digests of all files and what is asked: two models never share it.
    """

    name: str
    start: int
    end: int
    digest: str


def available() -> bool:
    """Returns whether the library that runs the network is installed."""
    return is_installed(MODULE)


def runtime() -> str:
    """Returns name and version of the library that runs the network; an empty text without it.

    Its versions round a little differently: in 200 pairs a logit moved by .04 between 1.26 and
    1.31 (median; 1.1 at most). So nothing is taken over from another version.
    """
    if not available():
        return ""
    try:
        return f"onnxruntime {version('onnxruntime')}"
    except PackageNotFoundError:  # built for other hardware, under another name
        return "onnxruntime"


def learned() -> str:
    """Names the weights, the decision over the scores, and the library; an empty text without it.

    The manifest lists the digests of the weights, so its own digest stands for them.

    Raises:
        DamagedPackage: A file is missing or is another one.
    """
    if not available():
        return ""
    return f"{digest([shipped_json(name) for name in _LEARNED])} {runtime()}"


@cache
def open_network(folder: Path = WEIGHTS) -> PairNetwork:
    """Opens the network; a second call returns the same one.

    Args:
        folder: Has `manifest.json` and the files it lists.

    Raises:
        MissingExtra: The library is not installed.
        DamagedPackage: A file is missing, is another one, or cannot be read.
    """
    require_module(MODULE, "The pair model", package=MODULE)
    manifest = read_manifest(folder)
    try:
        return PairNetwork(folder, manifest)
    except Exception as problem:  # libraries written in C++ raise plain ones
        raise _damaged(folder, f"it cannot be read ({problem})") from problem


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest and compares every file with its digest.

    Raises:
        DamagedPackage: A file is missing or is another one.
    """
    try:
        stored = json.loads((folder / "manifest.json").read_text("utf-8"))
        files, start, end = dict(stored["files"]), int(stored["start"]), int(stored["end"])
        name = str(stored["name"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise _damaged(folder, "manifest.json is missing or is no manifest") from problem
    changed = first_changed({folder / file: digest_ for file, digest_ in files.items()})
    if changed is not None:
        raise _damaged(folder, changed)
    named = [name, sorted(files.items()), MAY_REPLACE, MAY_HOLD]
    whole = hashlib.sha256(json.dumps(named).encode()).hexdigest()
    return Manifest(name, start, end, whole)


def _damaged(folder: Path, what: str) -> DamagedPackage:
    return DamagedPackage(
        f"The pair model in {folder} cannot be used: {what}. Install it again: "
        "pip install --force-reinstall --no-deps echoless"
    )


class PairNetwork:
    """The network with its tokenizer and embeddings, ready to score pairs."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Loads the files of a folder that were compared with their digests."""
        self._folder = folder
        self._layers = _session(folder / "layers.onnx")
        self._opening = Lock()
        self.tokenizer = Tokenizer.read(folder / "pieces.json")
        # a text stands in two or three of the pairs asked about: a fortieth of the whole time
        self._cut = ByText(lambda text: self.tokenizer.encode(fields_of(text).sentence), _KNOWN)
        import numpy as np

        with (folder / "words.npy").open("rb") as file:  # `np.load` opens it three times
            form = np.lib.format
            form.read_magic(file)
            shape, _, kind = form.read_array_header_1_0(file)
            self._words: NDArray[np.int8] = np.memmap(file, kind, "r", file.tell(), shape)
        with np.load(folder / "embeddings.npz") as arrays:
            self._small: dict[str, NDArray[np.float32]] = {k: arrays[k] for k in arrays.files}
        self.manifest = manifest
        self._last = lru_cache(maxsize=_PAIRS)(self._run)

    @cached_property
    def _replacing(self) -> InferenceSession:
        try:
            return _session(self._folder / "replacing.onnx")
        except Exception as problem:
            raise _damaged(self._folder, f"it cannot be read ({problem})") from problem

    def tokens(self, text: str) -> tuple[int, ...] | None:
        """Returns the token numbers of a text's sentence; None where it is too long."""
        if len(text) > LONGEST_TEXT:
            return None
        return self._cut(text)

    def fits(self, a: Sequence[int], b: Sequence[int]) -> bool:
        """Returns whether a pair is neither empty on a side nor too long."""
        return bool(a) and bool(b) and len(a) + len(b) + 3 <= LONGEST

    def logits(self, a: Sequence[int], b: Sequence[int], newer: Side | None = None) -> Logits:
        """Returns the logits of two texts, given as token numbers that fit.

        Args:
            a: One text.
            b: The other one.
            newer: Which of them is newer; None where that is not known.

        Returns:
            Of a holds b, b holds a, conflict, and the newer one replaces the older one: `NOT_ASKED`
            without an order, below `MAY_REPLACE`, above `MAY_HOLD`, or where an exit was taken.
        """
        return self._last(tuple(a), tuple(b), newer)

    def _run(self, a: tuple[int, ...], b: tuple[int, ...], newer: Side | None) -> Logits:
        tokens = [self.manifest.start, *a, self.manifest.end, *b, self.manifest.end]
        first, second = len(a) + 1, len(a) + 2 + len(b)
        import numpy as np

        sides = np.zeros(len(tokens), dtype=np.intp)
        sides[1:first], sides[first + 1 : second] = 1, 2
        of_a, of_b = (np.where(sides == side, 1.0, 0.0) for side in (1, 2))
        in_a, in_b = set(a), set(b)
        shared = np.zeros(len(tokens), dtype=np.intp)
        shared[1:first] = [2 if piece in in_b else 1 for piece in a]
        shared[first + 1 : second] = [2 if piece in in_a else 1 for piece in b]
        small = self._small
        states = self._words[tokens].astype(np.float32) * small["scales"][tokens][:, None]
        states += small["position"][: len(tokens)] + small["side"][sides] + small["shared"][shared]
        given: dict[str, Any] = {
            "of_a": (of_a / of_a.sum()).astype(np.float32)[None, None],
            "of_b": (of_b / of_b.sum()).astype(np.float32)[None, None],
        }
        output, trunk = self._layers.run(["logits", "trunk"], given | {"states": states[None]})
        ab, ba, conflict = (float(value) for value in output[0])
        if newer is None or conflict < MAY_REPLACE or max(ab, ba) > MAY_HOLD or not trunk.shape[1]:
            return ab, ba, conflict, NOT_ASKED
        ages = sides if newer == "b" else (3 - sides) * (sides > 0)
        given |= {"trunk": trunk, "ages": ages.astype(np.int64)[None]}
        with self._opening:  # several threads ask
            layers = self._replacing
        return ab, ba, conflict, float(layers.run(["logit"], given)[0][0, 0])


def _session(file: Path) -> InferenceSession:
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    return InferenceSession(str(file), options, providers, disabled_optimizers=_FUSIONS)
