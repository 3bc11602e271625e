"""Write the embedded model in two formats: Hugging Face's Llama, and CTranslate2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ctranslate2
import numpy as np
from safetensors.numpy import save

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tiny_llama import Shape
    from tokenizers import Tokenizer

END, USER, ASSISTANT, SYSTEM = "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

Weights = dict[str, "np.ndarray[Any, np.dtype[np.float16]]"]


def chat(prompt: str, answer: str) -> tuple[str, str]:
    """Return `prompt` in the chat template, and the text of `answer` after it."""
    return f"{USER}{prompt}{END}{ASSISTANT}", f"{answer}{END}"


def write_huggingface(folder: Path, weights: Weights, shape: Shape, tokenizer: Tokenizer) -> None:
    """Write the files that transformers and vLLM load as ``LlamaForCausalLM``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    end = tokenizer.token_to_id(END)
    _write_json(
        folder / "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": shape.vocabulary,
            "hidden_size": shape.hidden,
            "intermediate_size": shape.feed_forward,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.heads,
            "head_dim": shape.head_dim,
            "hidden_act": "silu",
            "max_position_embeddings": shape.positions,
            "rms_norm_eps": shape.epsilon,
            "rope_theta": shape.rope_base,
            "tie_word_embeddings": True,
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": end,
            "eos_token_id": end,
            "pad_token_id": end,
            "torch_dtype": "float16",
        },
    )
    _write_json(folder / "generation_config.json", {"eos_token_id": end, "pad_token_id": end})
    _write_tokenizer(folder, tokenizer)


def write_ctranslate2(folder: Path, weights: Weights, shape: Shape, tokenizer: Tokenizer) -> None:
    """Write the files that `ctranslate2.Generator` loads, and the tokenizer."""
    spec = ctranslate2.specs.TransformerDecoderModelSpec.from_config(
        shape.layers,
        shape.heads,
        activation=ctranslate2.specs.Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=0,
        rotary_interleave=False,
        rotary_base=shape.rope_base,
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = weights["model.embed_tokens.weight"]
    decoder.projection.weight = weights["model.embed_tokens.weight"]
    decoder.layer_norm.gamma = weights["model.norm.weight"]
    for number, layer in enumerate(decoder.layer):
        block = f"model.layers.{number}"
        attention, feed_forward = layer.self_attention, layer.ffn
        attention.layer_norm.gamma = weights[f"{block}.input_layernorm.weight"]
        attention.linear[0].weight = np.concatenate(
            [weights[f"{block}.self_attn.{name}_proj.weight"] for name in "qkv"]
        )
        attention.linear[1].weight = weights[f"{block}.self_attn.o_proj.weight"]
        feed_forward.layer_norm.gamma = weights[f"{block}.post_attention_layernorm.weight"]
        feed_forward.linear_0.weight = weights[f"{block}.mlp.gate_proj.weight"]
        feed_forward.linear_0_noact.weight = weights[f"{block}.mlp.up_proj.weight"]
        feed_forward.linear_1.weight = weights[f"{block}.mlp.down_proj.weight"]
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = END
    spec.config.layer_norm_epsilon = shape.epsilon
    by_id = {number: token for token, number in tokenizer.get_vocab().items()}
    spec.register_vocabulary([by_id[number] for number in range(shape.vocabulary)])
    spec.validate()
    spec.optimize(quantization="float16")
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    _write_tokenizer(folder, tokenizer)


def _write_tokenizer(folder: Path, tokenizer: Tokenizer) -> None:
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            # The token is never put before a text, but CTranslate2 refuses a model without one.
            "bos_token": END,
            "eos_token": END,
            "unk_token": END,
            "pad_token": END,
            "chat_template": CHAT_TEMPLATE,
            "clean_up_tokenization_spaces": False,
        },
    )


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
