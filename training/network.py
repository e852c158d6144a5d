"""The pair model as a PyTorch network: a small BERT encoder over both texts, and three outputs.

After some layers it can answer already; `training.exits` says from where on that answer is left at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.bases import Base

OUTPUTS: Final = ("a_entails_b", "b_entails_a", "conflict")
EXITS: Final = (2, 4)
"""Layers after which the network can answer already."""


POSITIONS: Final = 256
"""Pieces of the longest pair that is scored; the base has places for more."""
NEW: Final = ("side", "shared", "head", "exits")
"""Parts that no base has."""


class Layer(nn.Module):
    """One transformer layer of BERT: attention, then two linear maps, each with its norm."""

    def __init__(self, hidden: int, heads: int, inner: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.attention = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=epsilon)
        self.inner = nn.Linear(hidden, inner)
        self.outer = nn.Linear(inner, hidden)
        self.outer_norm = nn.LayerNorm(hidden, eps=epsilon)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Returns the new states, (batch, length, hidden); `mask` is added to the scores."""
        batch, length, hidden = states.shape

        def split(linear: nn.Linear) -> Tensor:
            return linear(states).view(batch, length, self.heads, -1).transpose(1, 2)

        query, key, value = split(self.query), split(self.key), split(self.value)
        # PyTorch's own attention takes twice the time on a processor, where its way back is slow.
        scores = query @ key.transpose(2, 3) * (hidden // self.heads) ** -0.5 + mask
        seen = scores.softmax(-1, dtype=torch.float32).to(value.dtype) @ value
        seen = seen.transpose(1, 2).reshape(batch, length, hidden)
        states = self.attention_norm(states + self.attention(seen))
        return self.outer_norm(states + self.outer(functional.gelu(self.inner(states))))


class PairNetwork(nn.Module):
    """Scores pairs of texts: whether a entails b, b entails a, and whether they conflict.

    Input is one row of tokens, `start a end b end`, with two small numbers for each token: its side
    (0 special, 1 of a, 2 of b) and whether the other side has the same piece (0 special, 1 no,
    2 yes). The second makes the difference of two long texts visible to few layers.
    """

    def __init__(self, base: Base, layers: Sequence[int] | None = None) -> None:
        super().__init__()
        hidden = base.hidden
        chosen = tuple(range(base.layers)) if layers is None else tuple(layers)
        self.padding = base.padding
        self.word = nn.Embedding(len(base.arrays["word"]), hidden)
        self.position = nn.Embedding(POSITIONS, hidden)
        self.side = nn.Embedding(3, hidden)
        self.shared = nn.Embedding(3, hidden)
        self.embedding_norm = nn.LayerNorm(hidden, eps=base.epsilon)
        sizes = (hidden, base.heads, base.inner, base.epsilon)
        self.layers = nn.ModuleList(Layer(*sizes) for _ in chosen)
        self.head = head(hidden)
        early = [at for at in EXITS if at < len(chosen)]
        self.exits = nn.ModuleDict({str(at): head(hidden) for at in early})
        self.load(base, chosen)

    def load(self, base: Base, chosen: Sequence[int]) -> None:
        """Copies the arrays of a base; new embeddings start at nothing."""
        state = {}
        position = base.arrays["position"][:POSITIONS]
        for name, array in {**base.arrays, "position": position}.items():
            parts = name.split(".")
            if parts[0] == "layers":
                if int(parts[1]) not in chosen:
                    continue
                parts[1] = str(tuple(chosen).index(int(parts[1])))
            key = ".".join(parts) + ("" if "." in name else ".weight")
            state[key] = torch.from_numpy(array.copy())
        missing, unexpected = self.load_state_dict(state, strict=False)
        if unexpected or any(not name.startswith(NEW) for name in missing):
            raise ValueError(f"The base does not fit: {missing} missing, {unexpected} unexpected.")
        nn.init.normal_(self.side.weight, std=0.01)
        nn.init.normal_(self.shared.weight, std=0.01)

    def take(self, state: Mapping[str, Tensor]) -> None:
        """Takes the weights of a trained network, which may have been without exits."""
        missing, unexpected = self.load_state_dict(state, strict=False)
        if unexpected or any(not name.startswith("exits") for name in missing):
            raise ValueError(f"The state does not fit: {missing} missing, {unexpected} unexpected.")

    def forward(self, tokens: Tensor, sides: Tensor, shared: Tensor) -> Tensor:
        """Returns logits, (batch, 3), for integer inputs of shape (batch, length)."""
        return self.answers(tokens, sides, shared)[-1]

    def embedded(self, tokens: Tensor, sides: Tensor, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the states before the first layer, and what is added to the scores of tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        states = self.word(tokens) + self.position(places) + self.side(sides) + self.shared(shared)
        states = self.embedding_norm(states)
        real = tokens != self.padding
        mask = torch.zeros_like(real, dtype=states.dtype).masked_fill(~real, -1e4)[:, None, None]
        return states, mask

    def answers(self, tokens: Tensor, sides: Tensor, shared: Tensor) -> list[Tensor]:
        """Returns the logits of each exit and, last, of the whole network."""
        states, mask = self.embedded(tokens, sides, shared)
        said = []
        for at, layer in enumerate(self.layers, 1):
            states = layer(states, mask)
            if str(at) in self.exits:
                said.append(self.exits[str(at)](pooled(states, sides)))
        return [*said, self.head(pooled(states, sides))]


def head(hidden: int) -> nn.Sequential:
    """Returns what answers from pooled states."""
    return nn.Sequential(nn.Linear(5 * hidden, 256), nn.GELU(), nn.Linear(256, 3))


def pooled(states: Tensor, sides: Tensor) -> Tensor:
    """Returns the first state, the mean of each side, their distance and product, (batch, 5 h)."""
    first, of_a, of_b = states[:, 0], mean(states, sides == 1), mean(states, sides == 2)
    return torch.cat([first, of_a, of_b, (of_a - of_b).abs(), of_a * of_b], dim=-1)


def mean(states: Tensor, chosen: Tensor) -> Tensor:
    """Returns the mean of the chosen states, (batch, hidden); of none, zeros."""
    weight = chosen.to(states.dtype)[:, :, None]
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1.0)
