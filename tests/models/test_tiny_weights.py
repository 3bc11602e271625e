"""The files of the embedded model: two formats with the same weights, and their properties."""

import asyncio
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from pytest_promptse.config._data_files import tiny_dir
from pytest_promptse.models._base import Decoding, Prompt, Request
from pytest_promptse.models._chat_template import read_chat_template
from pytest_promptse.models._ct2 import tiny_backend

HF, CT2 = Path(__file__).resolve().parents[1] / "data" / "tiny", tiny_dir() / "ct2"
PROMPT = Prompt(
    user="Ugh. Write `clamp(value: float, low: float, high: float) -> float`: limit the value to "
    "the range from low to high. If low is greater than high, do what you like."
)


@cache
def read_safetensors(path):
    """https://huggingface.co/docs/safetensors#format."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F16"
        begin, end = entry["data_offsets"]
        raw = np.frombuffer(data[start + begin : start + end], dtype="<f2")
        weights[name] = raw.reshape(entry["shape"]).astype(np.float64)
    return weights


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def next_token_log_probabilities(ids):
    """Compute Llama in plain numpy, in double precision: (length, vocabulary) for `ids`."""
    config, w = (
        json.loads((HF / "config.json").read_text()),
        read_safetensors(HF / "model.safetensors"),
    )
    heads, head_dim, length = config["num_attention_heads"], config["head_dim"], len(ids)
    frequencies = config["rope_theta"] ** -(np.arange(0, head_dim, 2) / head_dim)
    angles = np.tile(np.outer(np.arange(length), frequencies), 2)

    def norm(name, x):
        scale = np.sqrt((x**2).mean(axis=-1, keepdims=True) + config["rms_norm_eps"])
        return x / scale * w[f"{name}.weight"]

    def rotate(x):
        low, high = np.split(x, 2, axis=-1)
        return x * np.cos(angles) + np.concatenate([-high, low], axis=-1) * np.sin(angles)

    x = w["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        y = norm(f"{at}.input_layernorm", x)
        q, k, v = (
            (y @ w[f"{at}.self_attn.{n}_proj.weight"].T)
            .reshape(length, heads, head_dim)
            .transpose(1, 0, 2)
            for n in "qkv"
        )
        scores = rotate(q) @ rotate(k).transpose(0, 2, 1) / math.sqrt(head_dim)
        scores[:, np.triu(np.ones((length, length), dtype=bool), 1)] = -np.inf
        mixed = np.exp(log_softmax(scores)) @ v
        x = x + mixed.transpose(1, 0, 2).reshape(length, -1) @ w[f"{at}.self_attn.o_proj.weight"].T
        y = norm(f"{at}.post_attention_layernorm", x)
        gate = y @ w[f"{at}.mlp.gate_proj.weight"].T
        up = y @ w[f"{at}.mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"{at}.mlp.down_proj.weight"].T
    return log_softmax(norm("model.norm", x) @ w["model.embed_tokens.weight"].T)


def sample(*, n, temperature, max_tokens):
    async def run():
        backend = tiny_backend()
        await backend.start()
        decoding = Decoding(temperature=temperature, max_tokens=max_tokens)
        answer = await backend.complete(Request(prompt=PROMPT, decoding=decoding, n=n, seed=3))
        await backend.close()
        return answer.completions

    return asyncio.run(run())


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_file(str(HF / "tokenizer.json"))


@pytest.fixture(scope="module")
def prompt_ids(tokenizer):
    return tokenizer.encode(read_chat_template(HF).render(PROMPT)).ids


@pytest.mark.parametrize("temperature", [0.0, 0.2, 1.0])
def test_log_probabilities_are_those_of_the_hugging_face_weights_computed_apart(
    tokenizer, prompt_ids, temperature
):
    checked = 0
    texts = {each.text: each for each in sample(n=4, temperature=temperature, max_tokens=120)}
    for completion in texts.values():
        ids = tokenizer.encode(completion.text).ids
        if completion.finish_reason == "stop":
            ids.append(tokenizer.token_to_id("<|end|>"))
        # A text may have been sampled in other pieces than it is encoded in.
        if len(ids) == completion.n_tokens:
            table = next_token_log_probabilities(prompt_ids + ids)[len(prompt_ids) - 1 : -1]
            expected = table[range(len(ids)), ids].sum()
            assert completion.logprob == pytest.approx(expected, abs=2e-3)
            checked += 1
    assert checked


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_samples_follow_the_models_distribution_at_the_given_temperature(
    tokenizer, prompt_ids, temperature
):
    n = 2000
    table = next_token_log_probabilities(prompt_ids)[-1] / temperature
    expected = np.exp(log_softmax(table))
    likely = int(expected.argmax())
    text = tokenizer.decode([likely])
    seen = sum(c.text == text for c in sample(n=n, temperature=temperature, max_tokens=1))
    deviation = math.sqrt(n * expected[likely] * (1 - expected[likely]))
    assert abs(seen - n * expected[likely]) < 5 * deviation + 1


def test_both_forms_have_one_tokenizer_and_one_chat_template():
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (HF / name).read_bytes() == (CT2 / name).read_bytes()


def test_the_hugging_face_form_is_a_complete_llama(tokenizer):
    config = json.loads((HF / "config.json").read_text())
    width, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], width)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        shapes |= {f"{at}.self_attn.{n}_proj.weight": (width, width) for n in "qkvo"}
        shapes |= {f"{at}.mlp.{n}_proj.weight": (inner, width) for n in ("gate", "up")}
        shapes[f"{at}.mlp.down_proj.weight"] = (width, inner)
        shapes[f"{at}.input_layernorm.weight"] = (width,)
        shapes[f"{at}.post_attention_layernorm.weight"] = (width,)
    shapes["model.norm.weight"] = (width,)
    weights = read_safetensors(HF / "model.safetensors")
    assert {name: value.shape for name, value in weights.items()} == shapes
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["tie_word_embeddings"] is True
    assert config["vocab_size"] == tokenizer.get_vocab_size()
    assert tokenizer.token_to_id("<|end|>") == config["eos_token_id"]
    assert 500_000 < sum(value.size for value in weights.values()) < 2_000_000


def test_the_tokenizer_gives_back_any_text(tokenizer):
    text = "Ünïcode, tabs\t and\n  newlines: `f(x: int) -> int` 🙂"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text
