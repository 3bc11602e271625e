"""The Llama architecture as one function over Hugging Face's parameter names."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its customary name

Parameters = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The sizes of a decoder with tied embeddings; ``hidden`` = ``heads`` x ``head_dim``."""

    vocabulary: int = 768
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    feed_forward: int = 352
    positions: int = 1024
    rope_base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.hidden // self.heads


def initial(shape: Shape, generator: torch.Generator) -> Parameters:
    """Return fresh parameters, drawn from `generator`."""

    def normal(*size: int, std: float = 0.02) -> Tensor:
        return torch.randn(*size, generator=generator) * std

    width, inner = shape.hidden, shape.feed_forward
    residual = 0.02 / (2 * shape.layers) ** 0.5
    parameters = {"model.embed_tokens.weight": normal(shape.vocabulary, width)}
    for layer in range(shape.layers):
        at = f"model.layers.{layer}."
        parameters |= {
            f"{at}input_layernorm.weight": torch.ones(width),
            f"{at}self_attn.q_proj.weight": normal(width, width),
            f"{at}self_attn.k_proj.weight": normal(width, width),
            f"{at}self_attn.v_proj.weight": normal(width, width),
            f"{at}self_attn.o_proj.weight": normal(width, width, std=residual),
            f"{at}post_attention_layernorm.weight": torch.ones(width),
            f"{at}mlp.gate_proj.weight": normal(inner, width),
            f"{at}mlp.up_proj.weight": normal(inner, width),
            f"{at}mlp.down_proj.weight": normal(width, inner, std=residual),
        }
    parameters["model.norm.weight"] = torch.ones(width)
    return parameters


def logits(parameters: Parameters, tokens: Tensor, shape: Shape) -> Tensor:
    """Return next-token scores, (batch, length, vocabulary), for `tokens`, (batch, length)."""
    batch, length = tokens.shape
    cos, sin = _rotation(length, shape)
    embedding = parameters["model.embed_tokens.weight"]
    x = embedding[tokens]

    def heads(projected: Tensor) -> Tensor:
        return projected.view(batch, length, shape.heads, shape.head_dim).transpose(1, 2)

    def norm(name: str, at: Tensor) -> Tensor:
        return F.rms_norm(at, (shape.hidden,), parameters[f"{name}.weight"], shape.epsilon)

    def linear(name: str, at: Tensor) -> Tensor:
        return F.linear(at, parameters[f"{name}.weight"])

    for layer in range(shape.layers):
        block = f"model.layers.{layer}"
        y = norm(f"{block}.input_layernorm", x)
        query, key, value = (heads(linear(f"{block}.self_attn.{n}_proj", y)) for n in "qkv")
        mixed = F.scaled_dot_product_attention(
            _rotate(query, cos, sin), _rotate(key, cos, sin), value, is_causal=True
        )
        joined = mixed.transpose(1, 2).reshape(batch, length, shape.hidden)
        x = x + linear(f"{block}.self_attn.o_proj", joined)
        y = norm(f"{block}.post_attention_layernorm", x)
        gated = F.silu(linear(f"{block}.mlp.gate_proj", y)) * linear(f"{block}.mlp.up_proj", y)
        x = x + linear(f"{block}.mlp.down_proj", gated)
    return F.linear(norm("model.norm", x), embedding)


def _rotation(length: int, shape: Shape) -> tuple[Tensor, Tensor]:
    steps = torch.arange(0, shape.head_dim, 2) / shape.head_dim
    angles = torch.outer(torch.arange(length), shape.rope_base**-steps).repeat(1, 2)
    return angles.cos(), angles.sin()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin
