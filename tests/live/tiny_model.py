"""A model folder without a model: what a frontend needs to tokenize, and a simulated worker to name itself after.

Every token is a word (``w5`` is token 5), so that a prompt of n words has n tokens and each generated token is visible
text at once: with a byte-level tokenizer random tokens show nothing until the end.
"""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["VOCABULARY", "words", "write_model"]

VOCABULARY = 4096
_SPECIAL = ("<unk>", "<s>", "</s>", "<user>", "<assistant>")
_TEMPLATE = (
    "{% for m in messages %}{{ '<user> ' if m['role'] == 'user' else '<assistant> ' }}{{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def words(tokens: list[int]) -> str:
    """Text of these tokens."""
    return " ".join(f"w{token}" for token in tokens)


def write_model(folder: Path, *, context_tokens: int) -> Path:
    """Write configuration and tokenizer; there are no weights, as nothing computes."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "head_dim": 16,
        "max_position_embeddings": context_tokens,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "bfloat16",
    }
    vocabulary = {name: number for number, name in enumerate(_SPECIAL)}
    vocabulary |= {f"w{number}": number for number in range(len(_SPECIAL), VOCABULARY)}
    special = [
        {
            "id": number,
            "content": name,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for name, number in list(vocabulary.items())[: len(_SPECIAL)]
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": context_tokens,
        "chat_template": _TEMPLATE,
    }
    for name, content in (
        ("config.json", config),
        ("generation_config.json", {"bos_token_id": 1, "eos_token_id": 2}),
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", settings),
    ):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder
