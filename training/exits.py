"""Fits the exits: `python -m training.exits CHECKPOINT... --pairs CLOSE_PAIRS.jsonl.xz --out FILE`.

After a layer the network can already say that nothing is to be told of a pair. From where on that
is believed is read off close pairs without labels: of those about which the whole network says
something, all but `LOST` must go on. Of several checkpoints the mean is taken, whose exits first
learn again what its whole network says; all else stays as it is.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch

from training.bases import Base
from training.batches import draw_batches, encode, packed
from training.corpora import named_base
from training.examples import Example, read_unlabelled
from training.export import mean
from training.network import PairNetwork
from training.train import layers_of, said_early, save, state_of

TELLS: Final = 0.0
"""Logit of the whole network from which something may be told of a pair, inclusive."""
LOST: Final = 0.004
"""Share of these pairs that one exit may take."""
RATE: Final = 1e-4
KEPT: Final = 10_000
"""Pairs that give the bounds; the exits do not learn from them."""


@torch.no_grad()
def largest(network: PairNetwork, base: Base, examples: Sequence[Example]) -> np.ndarray:
    """Returns the largest logit of each exit and of the whole network, (pairs, exits + 1)."""
    network.eval()
    pairs = encode(base, examples)
    order = sorted(range(len(pairs)), key=lambda place: pairs[place].length)
    out = np.zeros((len(pairs), len(network.exits) + 1), dtype=np.float32)
    for start in range(0, len(order), 64):
        chosen = order[start : start + 64]
        *inputs, _ = packed(base, [pairs[place] for place in chosen])
        answers = network.answers(*inputs)
        out[chosen] = torch.stack([each.max(1).values for each in answers], 1).numpy()
    network.train()
    return out


def bounds_of(network: PairNetwork, base: Base, examples: Sequence[Example]) -> dict[int, float]:
    """Returns the largest logit below which each exit is taken, and prints what leaves there."""
    logits = largest(network, base, examples)
    tells, here = logits[:, -1] >= TELLS, np.ones(len(logits), dtype=bool)
    bounds = {}
    for column, name in enumerate(network.exits):
        bounds[int(name)] = bound = float(np.quantile(logits[tells, column], LOST))
        leaves = here & (logits[:, column] < bound)
        print(f"exit {name}: {bound:.3f}, {leaves.mean():.3f} of the pairs leave")
        here &= ~leaves
    print(f"{tells.mean():.3f} of the pairs tell something, {(tells & ~here).sum()} of them leave")
    return bounds


def taught(network: PairNetwork, base: Base, examples: list[Example], steps: int) -> None:
    """Teaches the exits what the whole network says."""
    for name, parameter in network.named_parameters():
        parameter.requires_grad = name.startswith("exits")
    optimiser = torch.optim.AdamW(network.exits.parameters(), RATE, fused=True)
    batches = draw_batches(base, [(examples, 1.0)], batch=32, seed=1)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        *inputs, _ = packed(base, next(batches))
        optimiser.zero_grad()
        said_early(network.answers(*inputs)).backward()
        optimiser.step()


def main() -> None:
    """Writes a checkpoint with the bounds of its exits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "checkpoint",
        type=Path,
        nargs="+",
        help="or a folder of weights; of several the mean is taken",
    )
    parser.add_argument("--base", choices=("minilm", "e5"), default="e5")
    parser.add_argument("--pairs", type=Path, required=True, help="close pairs without labels")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    torch.manual_seed(1)
    base = named_base(chosen.base)
    state = mean([state_of(path) for path in chosen.checkpoint])
    network = PairNetwork(base, range(layers_of(state)))
    network.take({name: torch.from_numpy(array) for name, array in state.items()})
    pairs = list(read_unlabelled(chosen.pairs))
    random.Random(1).shuffle(pairs)
    if chosen.steps:
        taught(network, base, pairs[KEPT:], chosen.steps)
    bounds = bounds_of(network, base, pairs[:KEPT])
    save(chosen.out, network=network.state_dict(), step=chosen.steps, bounds=bounds)


if __name__ == "__main__":
    main()
