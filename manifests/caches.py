"""Where processes of an engine's image may write.

It runs as an unprivileged user with a read-only root, so whatever keeps something is pointed at a volume.
"""

from __future__ import annotations

from stacks.resolve import StackSpec

__all__ = ["CACHE_PATH", "cache_environment", "home_environment"]

CACHE_PATH = "/cache"
"""Home of the process and of every compiler's cache."""


def home_environment(spec: StackSpec) -> dict[str, str]:
    """Home and hub cache; offline, as weights are local."""
    return {
        "HOME": CACHE_PATH,
        # torch asks for the user's name and does not find one for every uid.
        "USER": spec.rows.engine_user.name,
        "XDG_CACHE_HOME": CACHE_PATH,
        "HF_HOME": f"{CACHE_PATH}/huggingface",
        "HF_HUB_OFFLINE": "1",
    }


def cache_environment(spec: StackSpec) -> dict[str, str]:
    """Home, hub cache and the caches of all compilers, for processes that use a GPU."""
    return {
        **home_environment(spec),
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE_PATH}/inductor",
        "TRITON_CACHE_DIR": f"{CACHE_PATH}/triton",
        "CUDA_CACHE_PATH": f"{CACHE_PATH}/cuda",
        "FLASHINFER_WORKSPACE_BASE": CACHE_PATH,
        "NUMBA_CACHE_DIR": f"{CACHE_PATH}/numba",
    }
