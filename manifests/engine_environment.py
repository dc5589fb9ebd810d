"""vLLM's environment: no network, caches on local SSD, and the few settings that have no flag.

The image is run as its own unprivileged user with a read-only root, so everything that writes is pointed at a volume.
Names starting with ``VLLM_`` are checked by the engine itself at start (``--fail-on-environ-validation``).
"""

from __future__ import annotations

from stacks.resolve import StackSpec

__all__ = ["CACHE_PATH", "engine_environment"]

CACHE_PATH = "/cache"
"""Home of the process and of every compiler's cache."""


def engine_environment(spec: StackSpec) -> list[dict[str, str]]:
    """Environment of the engine's container; values are text, as Kubernetes wants them."""
    derived, gpu = spec.derived, spec.rows.hardware.gpu
    values = {
        "HOME": CACHE_PATH,
        # torch asks for the user's name and does not find one for every uid.
        "USER": spec.rows.engine_user.name,
        "XDG_CACHE_HOME": CACHE_PATH,
        "HF_HOME": f"{CACHE_PATH}/huggingface",
        "HF_HUB_OFFLINE": "1",
        "VLLM_CACHE_ROOT": f"{CACHE_PATH}/vllm",
        "VLLM_CONFIG_ROOT": f"{CACHE_PATH}/vllm-config",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE_PATH}/inductor",
        "TRITON_CACHE_DIR": f"{CACHE_PATH}/triton",
        "CUDA_CACHE_PATH": f"{CACHE_PATH}/cuda",
        "FLASHINFER_WORKSPACE_BASE": CACHE_PATH,
        "NUMBA_CACHE_DIR": f"{CACHE_PATH}/numba",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENGINE_READY_TIMEOUT_S": str(derived.engine_startup_budget_s),
        # The proxies must be the ones to close idle connections, or a request may meet a closing one: HTTP 502.
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(derived.engine_keep_alive_s),
    }
    if gpu.nccl_p2p_level is not None:
        values["NCCL_P2P_LEVEL"] = gpu.nccl_p2p_level
    return [{"name": name, "value": value} for name, value in values.items()]
