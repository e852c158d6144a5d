"""Trains the pair model: `python -m training.train --base e5 --out FOLDER [--steps N]`.

A run can be stopped at any time: it goes on from its last checkpoint when the same command is given
again. The learning rate rises over the first steps, stays, and falls over the last fifth.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor, distributed, multiprocessing
from torch.nn import functional

from training.bases import Base
from training.batches import draw_batches, encode, packed
from training.corpora import corpora, development, named_base
from training.examples import Example, read_unlabelled
from training.export import read_back
from training.network import NEW, PairNetwork
from training.scores import average_precision

WARMING: Final = 200
"""Steps until the full learning rate."""
COOLING: Final = 0.2
"""Share of the steps in which the rate falls to nothing, linearly."""
OUTPUT_WEIGHTS: Final = (1.0, 1.0, 0.7)


EARLY: Final = 0.25
"""What the loss of an exit counts beside that of the whole network."""
LABELS: Final = 0.4
"""Share of the labels in a student's loss; the rest is what its teachers say."""
UNLABELLED: Final = 0.3
"""Share of pairs without labels in a student's draw."""


def loss_of(logits: Tensor, targets: Tensor, taught: Tensor | None = None) -> Tensor:
    """Returns the mean binary cross-entropy, of the known targets or of what the teachers say.

    Args:
        logits: Of the network, (batch, 3).
        targets: Labels, (batch, 3); NaN where unknown.
        taught: Mean probabilities of the teachers, (batch, 3). Where a label is unknown they count
            for all, else for what `LABELS` leaves.
    """
    weight = torch.tensor(OUTPUT_WEIGHTS, device=logits.device)
    known = ~targets.isnan()
    if taught is None:
        wanted, weight = targets.nan_to_num(0.0), known * weight
    else:
        labels = targets.nan_to_num(0.0)
        wanted = torch.where(known, LABELS * labels + (1 - LABELS) * taught, taught)
        weight = weight.expand_as(wanted)
    each = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    return (each * weight).sum() / weight.sum().clamp(min=1.0)


def said_early(answers: Sequence[Tensor]) -> Tensor:
    """Returns how far the exits are from what the whole network, which comes last, says of pairs.

    They are to say the same before it, so they learn from that, with or without a label.
    """
    said = torch.sigmoid(answers[-1].detach())
    early = [functional.binary_cross_entropy_with_logits(each, said) for each in answers[:-1]]
    return torch.stack(early).sum() if early else answers[-1].new_zeros(())


def rate_at(step: int, steps: int) -> float:
    """Returns the share of the full learning rate at a step."""
    falling = (steps - step) / max(1.0, COOLING * steps)
    return max(0.0, min(1.0, (step + 1) / WARMING, falling))


def groups(network: PairNetwork, rate: float, frozen: int = 0) -> list[dict]:
    """Returns the optimiser's groups: four times the rate for the new parts, no decay of norms.

    Args:
        network: What is trained; its embeddings of words and positions stay.
        rate: Full learning rate.
        frozen: How many of the lowest layers stay as they are, with all embeddings.
    """
    network.word.weight.requires_grad = False
    network.position.weight.requires_grad = False
    if frozen:
        for part in (network.side, network.shared, network.embedding_norm, network.layers[:frozen]):
            part.requires_grad_(False)
    new, matrices, rest = [], [], []
    for name, parameter in network.named_parameters():
        if not parameter.requires_grad:
            continue
        if name.startswith(NEW):
            new.append(parameter)
        else:
            (matrices if parameter.ndim == 2 else rest).append(parameter)
    return [
        {"params": new, "lr": 4 * rate, "scale": 4.0, "weight_decay": 0.01},
        {"params": matrices, "lr": rate, "scale": 1.0, "weight_decay": 0.01},
        {"params": rest, "lr": rate, "scale": 1.0, "weight_decay": 0.0},
    ]


@torch.no_grad()
def predict(
    network: PairNetwork, base: Base, examples: Sequence[Example], *, batch: int = 64
) -> np.ndarray:
    """Returns probabilities, (pairs, 3), with the sides as they stand."""
    network.eval()
    pairs = encode(base, examples)
    order = sorted(range(len(pairs)), key=lambda place: pairs[place].length)
    out = np.zeros((len(pairs), 3), dtype=np.float32)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        *inputs, _ = packed(base, [pairs[place] for place in chosen], device_of(network))
        out[chosen] = torch.sigmoid(network(*inputs)).float().cpu().numpy()
    network.train()
    return out


def merging(probabilities: np.ndarray) -> np.ndarray:
    """Returns how sure it is that one text holds the other: the larger side, without conflict."""
    return probabilities[:, :2].max(axis=1) * (1 - probabilities[:, 2])


def evaluate(network: PairNetwork, base: Base, sets: dict[str, list[Example]]) -> dict[str, float]:
    """Returns the average precision of merging on each development set."""
    precision = {}
    for name, examples in sets.items():
        scores = merging(predict(network, base, examples))
        precision[name] = average_precision(np.array([e.mergeable for e in examples]), scores)
    return precision


def device_of(network: PairNetwork) -> torch.device:
    """Returns where a network lies."""
    return next(network.parameters()).device


def step_once(
    network: PairNetwork,
    optimiser: torch.optim.Optimizer,
    batch: tuple,
    teachers: Sequence[PairNetwork] = (),
    *,
    bfloat16: bool = False,
) -> float:
    """Trains on one batch of each worker and returns this worker's loss."""
    *inputs, targets = batch
    kind = device_of(network).type
    with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda" or bfloat16):
        taught = None
        if teachers:
            with torch.no_grad():
                taught = sum(torch.sigmoid(each(*inputs).float()) for each in teachers)
                taught = taught / len(teachers)
        answers = [each.float() for each in network.answers(*inputs)]
    loss = loss_of(answers[-1], targets, taught) + EARLY * said_early(answers)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if distributed.is_initialized():
        share_gradients(network)
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimiser.step()
    return loss.item()


def share_gradients(network: PairNetwork) -> None:
    """Replaces the gradients by their mean over the workers."""
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    flat = torch.cat([gradient.view(-1) for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def save(path: Path, **parts: object) -> None:
    """Writes a checkpoint whole or not at all."""
    draft = path.with_suffix(".draft")
    torch.save(parts, draft)
    draft.replace(path)


def arguments() -> argparse.Namespace:
    """Returns the parsed command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", choices=("minilm", "e5"), default="e5")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="further data folders")
    parser.add_argument("--layers", type=int, nargs="*", help="layers of the base; all by default")
    parser.add_argument(
        "--from", dest="start", type=Path, help="a checkpoint, or a folder of exported weights"
    )
    parser.add_argument(
        "--bfloat16", action="store_true", help="half precision; for processors that have it"
    )
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers that stay as they are")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=32, help="pairs a worker and step")
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--every", type=int, default=500, help="steps between two evaluations")
    parser.add_argument(
        "--teacher", type=Path, nargs="*", default=[], help="networks to learn from, as for --from"
    )
    parser.add_argument("--unlabelled", type=Path, help="pairs that the teachers alone label")
    return parser.parse_args()


def main() -> None:
    """Trains and keeps checkpoints and the curve."""
    chosen = arguments()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.workers == 1:
        work(0, chosen)
        return
    with tempfile.TemporaryDirectory() as meeting:
        place = f"file://{meeting}/workers"
        multiprocessing.spawn(work, args=(chosen, place), nprocs=chosen.workers)


def state_of(place: Path) -> dict[str, Tensor]:
    """Returns the state of a network: of a checkpoint, or of a folder of exported weights."""
    if place.is_dir():
        return {name: torch.from_numpy(array.copy()) for name, array in read_back(place).items()}
    state: dict[str, Tensor] = torch.load(place, map_location="cpu")["network"]
    return state


def layers_of(state: Mapping[str, Tensor]) -> int:
    """Returns the number of layers of a state."""
    return 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))


def begun(
    state: Mapping[str, Tensor], layers: Sequence[int] | None, network: PairNetwork
) -> dict[str, Tensor]:
    """Returns a state for a network: all of it, or the layers that a smaller network takes."""
    if layers_of(state) == len(network.layers) or layers is None:
        return dict(state)
    begun: dict[str, Tensor] = {}
    for name, values in state.items():
        parts = name.split(".")
        if parts[0] == "layers":
            if int(parts[1]) not in layers:
                continue
            parts[1] = str([*layers].index(int(parts[1])))
        begun[".".join(parts)] = values
    return begun


def taught(place: Path, base: Base) -> PairNetwork:
    """Returns a trained network to learn from."""
    state = state_of(place)
    network = PairNetwork(base, range(layers_of(state)))
    network.take(state)
    return network


def work(rank: int, chosen: argparse.Namespace, place: str = "") -> None:
    """Trains as one of the workers; the first one evaluates and keeps checkpoints."""
    torch.set_num_threads(1)
    torch.manual_seed(chosen.seed)
    if place:
        distributed.init_process_group(
            "gloo", init_method=place, rank=rank, world_size=chosen.workers
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    base = named_base(chosen.base)
    network = PairNetwork(base, chosen.layers).to(device)
    parts = groups(network, chosen.rate, chosen.frozen)
    optimiser = torch.optim.AdamW(parts, betas=(0.9, 0.98), fused=True)
    if chosen.start:
        network.take(begun(state_of(chosen.start), chosen.layers, network))
    teachers = [taught(path, base).to(device).eval() for path in chosen.teacher]
    checkpoint, done = chosen.out / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        network.load_state_dict(saved["network"])
        optimiser.load_state_dict(saved["optimiser"])
        done = saved["step"]
    sources = corpora(chosen.data)
    if chosen.unlabelled:
        sources.append((list(read_unlabelled(chosen.unlabelled)), UNLABELLED / (1 - UNLABELLED)))
    sets = development(chosen.data) if rank == 0 else {}
    share = rank, chosen.workers
    batches = draw_batches(base, sources, batch=chosen.batch, seed=chosen.seed + done, share=share)
    losses, started = [], time.monotonic()
    network.train()
    for step in range(done, chosen.steps):
        for group in optimiser.param_groups:
            group["lr"] = chosen.rate * group["scale"] * rate_at(step, chosen.steps)
        batch = packed(base, next(batches), device)
        losses.append(step_once(network, optimiser, batch, teachers, bfloat16=chosen.bfloat16))
        if math.isnan(losses[-1]):
            raise FloatingPointError(f"The loss of step {step} is not a number.")
        if rank == 0 and ((step + 1) % chosen.every == 0 or step + 1 == chosen.steps):
            parts = {"network": network.state_dict(), "optimiser": optimiser.state_dict()}
            save(checkpoint, **parts, step=step + 1)
            row = {"step": step + 1, "views": (step + 1) * chosen.batch * chosen.workers}
            row |= {"loss": round(float(np.mean(losses)), 4)}
            row |= {"seconds": round(time.monotonic() - started, 1)}
            row |= {name: round(value, 4) for name, value in evaluate(network, base, sets).items()}
            with (chosen.out / "curve.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
            losses, started = [], time.monotonic()


if __name__ == "__main__":
    main()
