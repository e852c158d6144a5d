"""Deduplicates lists in one process that is warm, as at recall time, by one method.

    python -m benchmarks.speed.peer_tools.warm_lists --method NAME --input IN.json [--weights PLACE]

`IN.json` has `warm`, a list of texts to warm up with, and `lists`. The line printed has, for each
list, milliseconds of the processor and of the clock, those of the processor for the same list
once more, and what is behind what, by place.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.speed.peer_tools.weights import potion

Behind = dict[int, int]
Method = Callable[[Sequence[str]], Behind]


def script(texts: Sequence[str], *, least: float) -> Behind:
    """The ten lines that many write: each text against those that stay, by shared letters."""
    process, fuzz = import_module("rapidfuzz.process"), import_module("rapidfuzz.fuzz")
    places: list[int] = []
    behind: Behind = {}
    for place, text in enumerate(texts):
        stay = [texts[at] for at in places]
        best = process.extractOne(text, stay, scorer=fuzz.ratio, score_cutoff=100 * least)
        if best is None:
            places.append(place)
        else:
            behind[place] = places[best[2]]
    return behind


def rensa(texts: Sequence[str], *, least: float) -> Behind:
    """MinHash of the words, as the page of rensa shows it."""
    library = import_module("rensa")
    index = library.RMinHashLSH(threshold=least, num_perm=128, num_bands=16)
    signatures: list[Any] = []
    behind: Behind = {}
    for place, text in enumerate(texts):
        signature = library.RMinHash(num_perm=128, seed=42)
        signature.update(text.split())
        signatures.append(signature)
        near = [at for at in index.query(signature) if signature.jaccard(signatures[at]) >= least]
        if near:
            behind[place] = min(near)
        else:
            index.insert(place, signature)
    return behind


def semhash(texts: Sequence[str], *, least: float, model: Any) -> Behind:
    """SemHash as its page shows it; a text that occurs twice is known by its first place."""
    made = import_module("semhash").SemHash.from_records(
        records=[{"content": text, "place": place} for place, text in enumerate(texts)],
        columns=["content"],
        model=model,
    )
    filtered = made.self_deduplicate(threshold=least).filtered
    return {each.record["place"]: each.duplicate_of["place"] for each in filtered}


def echoless(texts: Sequence[str], *, encoder: str) -> Behind:
    """`distinct` of echoless."""
    found = import_module("echoless").distinct(texts, encoder=encoder)
    return {item.place: each.place for each in found.survivors for item in each.folded}


def method(name: str, weights: str) -> tuple[Method, str]:
    """Returns a method, and the version of what it uses."""
    if name.startswith("echoless "):
        return partial(echoless, encoder=name.split()[1]), version("echoless")
    if name == "rensa":
        return partial(rensa, least=0.8), version("rensa")
    if name == "script":
        return partial(script, least=0.9), f"rapidfuzz {version('rapidfuzz')}"
    with tempfile.TemporaryDirectory() as folder:
        place = potion(weights, Path(folder))
        model = import_module("model2vec").StaticModel.from_pretrained(str(place))
    return partial(semhash, least=0.9, model=model), version("semhash")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--weights", default="")
    options = parser.parse_args()
    given = json.loads(Path(options.input).read_text("utf-8"))
    begun = time.perf_counter()
    chosen, used = method(options.method, options.weights)
    chosen(given["warm"])
    first = time.perf_counter() - begun
    lists = []
    for texts in given["lists"]:
        wall, cpu = time.perf_counter(), time.process_time()
        behind = chosen(texts)
        took = (time.process_time() - cpu, time.perf_counter() - wall)
        cpu = time.process_time()
        chosen(texts)
        times = {"cpu_ms": took[0], "wall_ms": took[1], "again_ms": time.process_time() - cpu}
        lists.append({of: seconds * 1e3 for of, seconds in times.items()} | {"behind": behind})
    print(json.dumps({"version": used, "first_s": first, "lists": lists}))


if __name__ == "__main__":
    main()
