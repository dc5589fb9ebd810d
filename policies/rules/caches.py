"""Downloads and caches go to volumes: what is written beside them fills the container's own layer on the boot disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, PodTemplate, entries, pod_templates, section
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_HUB_CACHES = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME")
_CACHE = re.compile(r"HF_HOME|.+_CACHE(_(DIR|ROOT|PATH|HOME))?|.+_STORAGE_DIR|.+_WORKSPACE_BASE")
_MODEL_FLAGS = ("--model", "--model-path", "--tokenizer", "--tokenizer-path", "--speculative-draft-model-path")
_DOWNLOAD_FLAG = "--download-dir"
_SERVE = ["vllm", "serve"]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PERSISTENT = ("persistentVolumeClaim", "csi", "ephemeral")
"""Sources of volumes that are made to keep something."""


def _words(container: Mapping[str, Any]) -> list[str]:
    """Command and arguments, ``--flag=value`` as two words."""
    written = [container.get(key) for key in ("command", "args")]
    words = [str(word) for group in written if isinstance(group, list) for word in group]
    return [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]


def _variables(container: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """Name -> place and value, of those that a manifest writes out."""
    return {
        str(variable.get("name")): (index, str(variable["value"]))
        for index, variable in enumerate(entries(container.get("env")))
        if variable.get("value") not in (None, OPAQUE)
    }


def _mounts(container: Mapping[str, Any]) -> list[str]:
    return [str(mount.get("mountPath", "")).rstrip("/") for mount in entries(container.get("volumeMounts"))]


def _is_on_a_volume(path: str, container: Mapping[str, Any]) -> bool:
    return any(path == mount or path.startswith(f"{mount}/") for mount in _mounts(container))


def _off_volumes(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        for path, container in template.containers():
            for name, (index, value) in _variables(container).items():
                if _CACHE.fullmatch(name) and value.startswith("/") and not _is_on_a_volume(value, container):
                    yield Finding(
                        path=f"{path}.env[{index}]",
                        urn=template.owner.urn,
                        value=value,
                        detail=f"{name} is a folder on no volume of the container",
                        allowed="a folder below " + (", ".join(_mounts(container)) or "a volume that is mounted"),
                    )


def _hub_models(container: Mapping[str, Any]) -> list[str]:
    """Models that are named by their id at the hub."""
    words = _words(container)
    named = [after for word, after in pairwise(words) if word in _MODEL_FLAGS]
    if words[: len(_SERVE)] == _SERVE:
        named += words[len(_SERVE) : len(_SERVE) + 1]
    return [name for name in named if _HUB_ID.fullmatch(name)]


def _downloads_anywhere(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        for path, container in template.containers():
            words, variables = _words(container), _variables(container)
            folders = [value for name, (_, value) in variables.items() if name in _HUB_CACHES]
            folders += [after for word, after in pairwise(words) if word == _DOWNLOAD_FLAG]
            models = _hub_models(container)
            if models and not any(_is_on_a_volume(folder, container) for folder in folders):
                yield Finding(
                    path=path,
                    urn=template.owner.urn,
                    value=", ".join(models),
                    detail="the model is named by its id at the hub, and no cache folder on a volume is set: where an "
                    "image has its own, differs from one image to the next",
                    allowed="HF_HOME on a volume, or the path of weights that are there",
                )


def _unused_volumes(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        for index, volume in enumerate(entries(template.spec.get("volumes"))):
            used = [_names_a_path(container, place) for container, place in _mounted(template, volume)]
            if _keeps(volume) and used and not any(used):
                yield Finding(
                    path=f"{template.path}.spec.volumes[{index}]",
                    urn=template.owner.urn,
                    value=volume.get("name"),
                    detail="no command, argument or variable of a container that mounts it names a path on it",
                    allowed="a path below its mountPath in the container that needs it",
                )


def _keeps(volume: Mapping[str, Any]) -> bool:
    """Whether it is made to keep something; a driver of secrets only has to be mounted."""
    driver = str(section(volume.get("csi")).get("driver", ""))
    return any(kind in volume for kind in _PERSISTENT) and not driver.startswith("secrets-store")


def _mounted(template: PodTemplate, volume: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the containers that mount a volume, and where."""
    for _, container in template.containers():
        for mount in entries(container.get("volumeMounts")):
            if mount.get("name") == volume.get("name"):
                yield container, str(mount.get("mountPath", "")).rstrip("/")


def _names_a_path(container: Mapping[str, Any], place: str) -> bool:
    texts = [*_words(container), *(value for _, value in _variables(container).values())]
    return any(re.search(re.escape(place) + r"(?![\w.-])", text) for text in texts)


_REPORTS = (
    "GoogleCloudPlatform/kubernetes-engine-samples#1581; GoogleCloudPlatform/ai-on-gke#931; "
    "huggingface/Google-Cloud-Containers#137"
)

RULES = (
    Rule(
        id="cache-off-volume",
        why="what is written there fills the boot disk until the pod is evicted, or is refused where the root is "
        "read-only; and it is gone with the container",
        remedy="put the folder below a mount",
        source=_REPORTS,
        find=_off_volumes,
    ),
    Rule(
        id="download-off-volume",
        why="weights of hundreds of gigabytes would land on the container's own layer, and the pod is evicted half-way",
        remedy="set HF_HOME to a folder on a volume, or name the path of weights that are there",
        source=_REPORTS,
        find=_downloads_anywhere,
    ),
    Rule(
        id="volume-not-used",
        why="a disk is paid for, and what was meant to be on it is somewhere else",
        remedy="name the path in the container, or take the volume out",
        source=_REPORTS,
        find=_unused_volumes,
        severity="warning",
    ),
)
