"""Train the embedded model from scratch and write it into the package.

    pip install torch safetensors tokenizers ctranslate2 pyyaml
    python tools/train_tiny.py --out plain
    python tools/train_tiny.py --start plain --messages 0.75 --steps 200 --rate 0.001

The first command trains on requests that stand alone. The second one continues with requests inside
messages. The same seed on the same kind of machine gives the same weights. All text is drawn from
`tiny_families.yaml`. docs/explanation/tiny.md explains what the model can and cannot show.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import tiny_corpus
import torch
from safetensors.torch import load_file
from tiny_export import (
    ASSISTANT,
    END,
    SYSTEM,
    USER,
    Weights,
    chat,
    write_ctranslate2,
    write_huggingface,
)
from tiny_llama import Parameters, Shape, initial, logits
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F  # noqa: N812 - its customary name

if TYPE_CHECKING:
    from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent
# The package needs one form. Tests compare it with the other, which vLLM reads.
CT2 = ROOT / "pytest_promptse" / "models" / "tiny" / "ct2"
HUGGINGFACE = ROOT / "tests" / "data" / "tiny"
PEAK_RATE = 3e-3
WARM_UP = 100
REQUESTS = 13  # per batch; with two or three behaviours each, about 33 examples
IGNORED = -100


def main() -> None:
    """Train and write both forms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rate", type=float, default=PEAK_RATE, help="highest learning rate")
    parser.add_argument("--start", type=Path, help="folder of the weights to go on from")
    parser.add_argument("--messages", type=float, default=0.0, help="share inside a message")
    parser.add_argument("--out", type=Path, help="folder for both forms (default: their places)")
    options = parser.parse_args()

    # The order of additions depends on the number of threads, and so do the last bits.
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(mode=True)
    shape = Shape()
    began = time.perf_counter()
    rng = random.Random(options.seed)  # noqa: S311 - examples, not secrets
    if options.start is None:
        tokenizer = train_tokenizer(rng, shape.vocabulary)
        parameters = initial(shape, torch.Generator().manual_seed(options.seed))
    else:
        tokenizer = Tokenizer.from_file(str(options.start / "hf" / "tokenizer.json"))
        stored = load_file(options.start / "hf" / "model.safetensors")
        parameters = {name: value.float() for name, value in stored.items()}
    train(rng, tokenizer, shape, parameters, options)
    weights: Weights = {name: value.detach().half().numpy() for name, value in parameters.items()}
    folders = (options.out / "hf", options.out / "ct2") if options.out else (HUGGINGFACE, CT2)
    write_huggingface(folders[0], weights, shape, tokenizer)
    write_ctranslate2(folders[1], weights, shape, tokenizer)
    size = sum(value.size for value in weights.values())
    print(f"{size:,} parameters, {time.perf_counter() - began:.0f} s, in {[*map(str, folders)]}")


def train_tokenizer(rng: random.Random, vocabulary: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer learnt from a few thousand examples."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END, USER, ASSISTANT, SYSTEM],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    examples = (example for _ in range(2000) for example in tiny_corpus.draw(rng))
    tokenizer.train_from_iterator((f"{e.prompt}\n{e.answer}" for e in examples), trainer)
    return tokenizer


def train(
    rng: random.Random,
    tokenizer: Tokenizer,
    shape: Shape,
    parameters: Parameters,
    options: argparse.Namespace,
) -> None:
    """Train `parameters` in place on batches of fresh examples; the loss counts answers only."""
    steps = options.steps
    for value in parameters.values():
        value.requires_grad_()
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in parameters.values() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in parameters.values() if p.ndim == 1], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
    )
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = options.rate * _schedule(step, steps)
        tokens, targets = _batch(rng, tokenizer, options.messages)
        scores = logits(parameters, tokens, shape)
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step:5d}  loss {loss.item():.4f}", flush=True)


def _schedule(step: int, steps: int) -> float:
    """Return the learning rate of a step as a share of the highest one."""
    warm_up = min(WARM_UP, steps // 5)
    if step < warm_up:
        return (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    return 0.05 + 0.95 * (1 + math.cos(math.pi * done)) / 2


def _batch(rng: random.Random, tokenizer: Tokenizer, messages: float) -> tuple[Tensor, Tensor]:
    """Return tokens and, one place ahead, the answers' tokens to predict; padded on the right."""
    rows = []
    drawn = (tiny_corpus.draw(rng, messages=messages) for _ in range(REQUESTS))
    for example in (example for examples in drawn for example in examples):
        prompt_ids, answer_ids = (
            tokenizer.encode(text).ids for text in chat(example.prompt, example.answer)
        )
        rows.append(([*prompt_ids, *answer_ids], [IGNORED] * len(prompt_ids) + answer_ids))
    length = max(len(ids) for ids, _ in rows) - 1
    tokens = torch.zeros(len(rows), length, dtype=torch.long)
    targets = torch.full((len(rows), length), IGNORED)
    for row, (ids, labels) in enumerate(rows):
        tokens[row, : len(ids) - 1] = torch.tensor(ids[:-1])
        targets[row, : len(ids) - 1] = torch.tensor(labels[1:])
    return tokens, targets


if __name__ == "__main__":
    main()
