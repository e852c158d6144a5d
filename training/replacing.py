"""Trains layers that tell a replaced memory: `training.replacing --from WEIGHTS --out FOLDER`.

They read the states behind the first layers of the trained network, which stay as they are, and one
number more for each token: whether its text is the older or the newer one. Their answer is whether
the newer text makes the older one out of date, in whatever words. They begin with the upper layers
of the network and with its answer on conflicts.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from rapidfuzz import fuzz, process
from torch import Tensor, nn
from torch.nn import functional

from training.bases import Base
from training.batches import Shuffled, encode, marked, packed
from training.corpora import CLOSE_LABELS, HERE, first, named_base
from training.examples import (
    Example,
    later_sets,
    lines,
    read_across,
    read_contrast,
    read_digested,
    read_pairs,
    read_revisions,
    read_unlabelled,
)
from training.export import TRUNK
from training.network import PairNetwork, pooled
from training.scores import average_precision
from training.train import rate_at, save, state_of

SHARES: Final = {
    "later": 0.40,
    "news": 0.13,
    "contrast": 0.12,
    "across": 0.04,
    "notes": 0.07,
    "close": 0.08,
    "history": 0.10,
    "unlabelled": 0.06,
}
"""Of what is drawn."""
NEWS: Final = ("news_*", "observed_*", "stages", "notes_status")
STAGES: Final = frozenset({"stage", "state", "result", "done", "outcome", "status"})
"""Kinds of parallel statements that may well replace the other one: they teach nothing."""
NOT_CERTAIN: Final = 0.12
"""Target of pairs of real notes labelled as another value, state or component."""
HARDLY: Final = 0.05
"""Target of two texts of one story, of which nobody said that they are of one fact."""
FAR: Final = 5
"""Texts of any other set that those of a set are told apart from: a store asks about such pairs."""
DEVELOPMENT: Final = 600
"""Pairs of the sets kept apart that are scored while training."""


@dataclass(frozen=True, slots=True)
class Succession:
    """Two texts, the older one first, and whether the newer one makes it out of date.

    Attributes:
        replaced: 1 true, 0 false, between them not certain; None unknown, the network's own answer
            on conflicts is learned.
        ordered: Whether the answer is known for this order only.
    """

    older: str
    newer: str
    replaced: float | None
    ordered: bool = False


def successions(item: dict) -> Iterator[Succession]:
    """Yields the pairs of a set: a base in several wordings, and what came `later` or beside it."""
    full = [item["base"], *item["same"]]
    beside = [*(each["t"] for each in item["sibling"]), *item["related"]]
    for place, text in enumerate(full):
        yield from (Succession(text, other, 0) for other in full[place + 1 :])
        yield from (Succession(text, each["t"], 1, ordered=True) for each in item["later"])
        yield from (Succession(text, other, 0) for other in beside)


def across(items: Sequence[dict], seed: int = 11) -> Iterator[Succession]:
    """Yields the nearest texts of two sets, and any: they are of two facts."""
    draw = random.Random(seed)
    for item, other in ((item, draw.choice(items)) for item in items for _ in range(FAR)):
        if item is not other:
            one, two = (
                draw.choice([each["base"], *(e["t"] for e in each["later"])])
                for each in (item, other)
            )
            yield Succession(one, two, 0)
    texts = [
        (number, text)
        for number, item in enumerate(items)
        for text in [
            item["base"],
            *item["same"],
            *(e["t"] for e in item["later"] + item["sibling"]),
        ]
    ]
    for number, item in enumerate(items):
        others = [text for place, text in texts if place != number]
        for text in [item["base"], *(each["t"] for each in item["later"])]:
            near = process.extract(text, others, scorer=fuzz.token_set_ratio, limit=2)
            yield from (Succession(text, other, 0) for other, _, _ in near)


def contrasted(path: Path) -> Iterator[Succession]:
    """Yields the pairs of contrast sets; another value in the same slot replaces."""
    staged = {
        each["t"] for item in lines(path) for each in item["sibling"] if each.get("kind") in STAGES
    }
    for pair in read_contrast(path):
        if pair.a not in staged and pair.b not in staged:
            yield Succession(pair.a, pair.b, pair.conflict)


def labelled(
    pairs: Iterator[Example], unknown: float, *, ordered: bool = False
) -> list[Succession]:
    """Returns labelled pairs; where nobody says whether they conflict, `unknown` is learned."""
    return [
        Succession(e.a, e.b, unknown if e.conflict is None else e.conflict, ordered) for e in pairs
    ]


def sources(folders: Sequence[Path]) -> dict[str, list[Succession]]:
    """Returns the pairs of each source that is there, by its name in `SHARES`."""
    found: dict[str, list[Succession]] = {name: [] for name in SHARES}
    own = later_sets(kept=False)
    found["later"] = [*(pair for item in own for pair in successions(item)), *across(own)]
    for path in sorted((HERE / "data" / "contrast").glob("*.jsonl")):
        kind = "news" if any(path.match(f"{name}.jsonl") for name in NEWS) else "contrast"
        found[kind].extend(contrasted(path))
        found["across"].extend(Succession(e.a, e.b, HARDLY) for e in read_across(path))
    if notes := first(folders, "notes/labelled.jsonl"):
        found["notes"] = labelled(read_pairs(notes, "notes"), NOT_CERTAIN)
    if history := first(folders, "history/labelled.jsonl"):
        found["history"] = labelled(read_revisions(history), NOT_CERTAIN, ordered=True)
    if close := first(folders, "notes3/unlabelled.jsonl.xz"):
        found["close"] = labelled(read_digested(CLOSE_LABELS, close), NOT_CERTAIN)
        found["unlabelled"] = [Succession(e.a, e.b, None) for e in read_unlabelled(close)]
    return {name: pairs for name, pairs in found.items() if pairs}


class Replacing(nn.Module):
    """The layers behind the trunk of a trained network, with the ages of the texts."""

    def __init__(self, network: PairNetwork) -> None:
        super().__init__()
        hidden = network.word.embedding_dim
        self.layers = copy.deepcopy(network.layers[TRUNK:])
        self.age = nn.Embedding(3, hidden)
        nn.init.normal_(self.age.weight, std=0.01)
        self.head = copy.deepcopy(network.head)
        conflict, self.head[2] = network.head[2], nn.Linear(network.head[2].in_features, 1)
        self.head[2].weight.data.copy_(conflict.weight[2:])
        self.head[2].bias.data.copy_(conflict.bias[2:])
        self.requires_grad_(True)

    def forward(self, states: Tensor, mask: Tensor, sides: Tensor, ages: Tensor) -> Tensor:
        """Returns logits, (batch,); ages are 1 for tokens of the older text, 2 of the newer one."""
        states = states + self.age(ages)
        for layer in self.layers:
            states = layer(states, mask)
        return self.head(pooled(states, sides))[:, 0]


class Batch:
    """Pairs of like length as tensors, with what is known of them."""

    def __init__(self, base: Base, pairs: Sequence[Example], newer: Sequence[int]) -> None:
        """Takes the pairs as they stand, and the side, 1 or 2, of each that is newer."""
        self.tokens, self.sides, self.shared, targets = packed(base, encode(base, pairs))
        side = torch.tensor(newer)[:, None]
        self.ages = torch.where(self.sides == side, 2, 1) * (self.sides > 0)
        self.targets = targets[:, 2]


def arranged(pair: Succession, draw: random.Random | None) -> tuple[Example, int]:
    """Returns a pair as the network reads it, and which side is newer.

    Args:
        pair: With its order.
        draw: Now and then adds a mark, and takes either side first; None for the order of a score,
            in which the text that sorts first stands in front.
    """
    older, newer = pair.older, pair.newer
    if draw:
        older, newer = (marked(t, draw) if draw.random() < 0.12 else t for t in (older, newer))
        if not pair.ordered and draw.random() < 0.5:
            older, newer = newer, older
    turned = draw.random() < 0.5 if draw else older > newer
    a, b = (newer, older) if turned else (older, newer)
    return Example(a, b, None, None, pair.replaced, "", ""), 1 if turned else 2


def batches(
    base: Base, found: dict[str, list[Succession]], size: int, draw: random.Random
) -> Iterator[Batch]:
    """Yields batches without end: sources by their shares, pairs of like length together."""
    orders = [Shuffled(pairs, draw) for pairs in found.values()]  # type: ignore[arg-type]
    shares = [SHARES[name] for name in found]
    while True:
        chosen = [order.next() for order in draw.choices(orders, shares, k=size * 64)]
        drawn = [arranged(pair, draw) for pair in chosen]  # type: ignore[arg-type]
        drawn.sort(key=lambda each: len(each[0].a) + len(each[0].b))
        starts = list(range(0, len(drawn), size))
        draw.shuffle(starts)
        for start in starts:
            some = drawn[start : start + size]
            yield Batch(base, [pair for pair, _ in some], [newer for _, newer in some])


@torch.no_grad()
def trunk(network: PairNetwork, batch: Batch) -> tuple[Tensor, Tensor]:
    """Returns the states of the trunk, which stays as it is, and the mask of the tokens."""
    states, mask = network.embedded(batch.tokens, batch.sides, batch.shared)
    for layer in network.layers[:TRUNK]:
        states = layer(states, mask)
    return states, mask


def step_once(
    network: PairNetwork, own: Replacing, optimiser: torch.optim.Optimizer, batch: Batch
) -> float:
    """Trains on one batch and returns its loss."""
    targets, unknown = batch.targets.clone(), batch.targets.isnan()
    if unknown.any():
        with torch.no_grad():
            given = (each[unknown] for each in (batch.tokens, batch.sides, batch.shared))
            targets[unknown] = torch.sigmoid(network(*given)[:, 2])
    states, mask = trunk(network, batch)
    said = own(states, mask, batch.sides, batch.ages)
    loss = functional.binary_cross_entropy_with_logits(said, targets)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(own.parameters(), 1.0)
    optimiser.step()
    return loss.item()


@torch.no_grad()
def logits(
    network: PairNetwork, own: Replacing, base: Base, pairs: Sequence[Succession]
) -> np.ndarray:
    """Returns the logit of each pair."""
    own.eval()
    drawn = [arranged(pair, None) for pair in pairs]
    order = sorted(range(len(drawn)), key=lambda at: len(drawn[at][0].a) + len(drawn[at][0].b))
    out = np.zeros(len(drawn), dtype=np.float32)
    for start in range(0, len(order), 64):
        chosen = order[start : start + 64]
        batch = Batch(base, [drawn[at][0] for at in chosen], [drawn[at][1] for at in chosen])
        states, mask = trunk(network, batch)
        out[chosen] = own(states, mask, batch.sides, batch.ages).numpy()
    own.train()
    return out


def main() -> None:
    """Trains, and keeps the last weights and the curve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="start", type=Path, required=True, help="a trained network")
    parser.add_argument("--begun", type=Path, help="a checkpoint of this training to go on from")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="further data folders")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1400)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument(
        "--seed", type=int, default=2, help="of what is drawn; take another to go on"
    )
    parser.add_argument("--every", type=int, default=300)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    base = named_base("e5")
    network = PairNetwork(base, range(8)).eval().requires_grad_(False)
    network.take(state_of(chosen.start))
    own, draw = Replacing(network), random.Random(chosen.seed)
    if chosen.begun:
        own.load_state_dict(torch.load(chosen.begun)["network"])
    kept = [pair for item in later_sets(kept=True) for pair in successions(item)]
    kept = random.Random(3).sample(kept, DEVELOPMENT)
    true = np.array([pair.replaced == 1 for pair in kept])
    new = [p for n, p in own.named_parameters() if n.startswith(("age", "head"))]
    parts = [{"params": new, "scale": 2.0}, {"params": list(own.layers.parameters()), "scale": 1.0}]
    optimiser = torch.optim.AdamW(parts, chosen.rate, (0.9, 0.98), weight_decay=0.01, fused=True)
    drawn, losses, started = batches(base, sources(chosen.data), chosen.batch, draw), [], 0.0
    for step in range(1, chosen.steps + 1):
        started = started or time.monotonic()
        for group in optimiser.param_groups:
            group["lr"] = chosen.rate * group["scale"] * rate_at(step - 1, chosen.steps)
        losses.append(step_once(network, own, optimiser, next(drawn)))
        if step % chosen.every == 0 or step == chosen.steps:
            row = {"step": step, "loss": round(float(np.mean(losses)), 4)}
            row |= {"seconds": round(time.monotonic() - started, 1)}
            said = logits(network, own, base, kept)
            row |= {"kept": round(average_precision(true, said), 4)}
            with (chosen.out / "curve.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
            save(chosen.out / "replacing.pt", network=own.state_dict(), step=step)
            losses, started = [], 0.0


if __name__ == "__main__":
    main()
