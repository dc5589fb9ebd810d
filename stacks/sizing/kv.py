"""Bytes of KV cache, and how fast a replica can read them."""

from __future__ import annotations

from stacks.derived import Derived
from stacks.memory import GB
from stacks.row_lookup import Rows
from stacks.sizing.figures import Figure, Section, gb
from stacks.sizing.session import Session
from stacks.spec import Preset
from stacks.wording import some

__all__ = ["decode_bounds", "kv_cache"]


def kv_cache(preset: Preset, rows: Rows, derived: Derived, session: Session) -> Section:
    """Return what a token, a window and a session take."""
    model, cache = rows.model.architecture, preset.serving.kv_cache
    layers = model.full_attention_layers
    element = derived.kv_bytes_per_token // (layers * 2 * model.kv_heads * model.head_dim)
    of_layer = f"2 x {model.kv_heads} KV heads x {model.head_dim} x {element} B ({cache.dtype})"
    sliding = model.sliding_attention_layers
    window = f"{sliding} sliding layers x {of_layer} x {model.sliding_window_tokens} tokens, while it runs"
    figures = (
        Figure("token", derived.kv_bytes_per_token, "bytes", f"{layers} full layers x {of_layer}", "derived"),
        Figure(
            "windows_of_a_sequence",
            derived.kv_window_bytes_per_sequence,
            "bytes",
            window if sliding else "no sliding layers",
            "derived",
        ),
        Figure(
            "session",
            session.tokens * derived.kv_bytes_per_token,
            "bytes",
            f"{session.tokens:,} tokens x {derived.kv_bytes_per_token:,} B",
            "derived",
            "GB",
        ),
    )
    return Section("kv_cache", f"KV cache of a session of {session.tokens:,} tokens", figures)


def decode_bounds(preset: Preset, rows: Rows, derived: Derived, session: Session, in_hbm: int) -> Section:
    """Bound decoding by what has to be read from GPU memory for a step; ``in_hbm`` sessions fit a replica's.

    Everything else (arithmetic, collectives between GPUs, launching kernels) only makes it slower. A step of a
    mixture of experts reads at least what one token needs; a large batch reads nearly all experts, so that the second
    bound is the nearer one.
    """
    gpu, gpus, model = rows.hardware.gpu, derived.gpus_per_replica, rows.model.architecture
    bandwidth = gpu.memory_bandwidth_gb_per_s * gpus
    weights = rows.checkpoint.weights_bytes
    active = weights * model.active_parameters // model.parameters
    kv = session.tokens * derived.kv_bytes_per_token + derived.kv_window_bytes_per_sequence
    batch = min(preset.serving.engine.max_sequences, in_hbm)
    several = f"{batch} x {bandwidth:,} GB/s / ({{}} + {batch} x {gb(kv)})" if batch else "no such session fits"
    figures = (
        Figure(
            "hbm_bandwidth",
            bandwidth,
            "GB/s",
            f"{gpu.memory_bandwidth_gb_per_s:,} GB/s x {some(gpus, 'GPU')}",
            "catalog",
        ),
        Figure(
            "active_weights",
            active,
            "bytes",
            f"{gb(weights)} x {model.active_parameters / 1e9:.2f}B active / {model.parameters / 1e9:.2f}B parameters; "
            "active ones as many bytes each as all",
            "assumed",
            "GB",
        ),
        Figure(
            "one_sequence",
            _rate(1, bandwidth, active + kv),
            "tokens/s",
            f"at most: {bandwidth:,} GB/s / (active weights {gb(active)} + KV {gb(kv)})",
            "derived",
        ),
        Figure(
            "batch",
            _rate(batch, bandwidth, active + batch * kv),
            "tokens/s",
            f"at most: {several.format(gb(active))}; the least of max_sequences and sessions in HBM",
            "derived",
        ),
        Figure(
            "batch_reading_all_weights",
            _rate(batch, bandwidth, weights + batch * kv),
            "tokens/s",
            f"{several.format(gb(weights))}, where a step reads every expert",
            "assumed",
        ),
    )
    kind = "without drafts; " if rows.drafter else ""
    return Section(
        "decode",
        f"decoding of one replica, sessions of {session.tokens:,} tokens ({kind}upper bounds by memory reads, not "
        "throughput)",
        figures,
    )


def _rate(sequences: int, gb_per_s: float, bytes_per_step: float) -> float | None:
    return round(sequences * gb_per_s * GB / bytes_per_step, 1) if sequences else None
