"""Whether the weights are where the stack says: in the bucket under the prefix, or on the model hub with its token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import requests

from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.google import NotFoundError, UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.spec import Bucket, HuggingFace, HyperdiskMl

__all__ = ["WEIGHTS", "InBucket", "OnHub", "judge_weights"]

_CLOSE_ENOUGH = 0.9
"""Sizes in the catalog are partly derived; a checkpoint smaller than this is not whole."""
_HUB_TIMEOUT_S = (5.0, 20.0)
_GATED = (401, 403)
_READABLE = "ENABLED"


@dataclass(frozen=True)
class InBucket:
    """What lies under a prefix of a bucket."""

    path: str
    bucket: str
    prefix: str
    expected_bytes: int
    exists: bool = True
    found_bytes: int = 0
    files: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OnHub:
    """A revision of a repository on the hub (the HTTP status of asking for it), and the state of the token's secret."""

    path: str
    repository: str
    revision: str
    status: int
    secret: str = ""
    secret_state: str = ""
    """Of its latest version; empty: there is no such secret, or it has no version."""
    gated: str = ""
    """How its terms are accepted, ``auto`` or ``manual``; empty: there are none, anybody may read the files."""


Place = InBucket | OnHub


def _wanted(target: Target) -> list[tuple[str, Bucket | HuggingFace, int]]:
    spec = target.spec
    found = [("model.weights", spec.preset.model.weights, spec.rows.checkpoint.weights_bytes)]
    if spec.preset.serving.speculation and spec.rows.drafter:
        drafter = spec.preset.serving.speculation
        found.append(("serving.speculation.weights", drafter.weights, spec.rows.drafter.weights_bytes))
    return found


def _look(target: Target, world: World) -> list[Place]:
    return [
        _in_bucket(world, path, weights, size) if isinstance(weights, Bucket) else _on_hub(target, world, path, weights)
        for path, weights, size in _wanted(target)
    ]


def _in_bucket(world: World, path: str, weights: Bucket, size: int) -> InBucket:
    prefix = f"{weights.prefix.rstrip('/')}/"
    files: dict[str, int] = {}
    try:
        for page in world.google.pages(
            "storage",
            "objects.list",
            bucket=weights.bucket,
            prefix=prefix,
            fields="items(name,size),nextPageToken",
        ):
            files |= {item["name"].removeprefix(prefix): int(item["size"]) for item in page.get("items", [])}
    except NotFoundError:
        return InBucket(path, weights.bucket, prefix, size, exists=False)
    return InBucket(path, weights.bucket, prefix, size, found_bytes=sum(files.values()), files=frozenset(files))


def _on_hub(target: Target, world: World, path: str, weights: HuggingFace) -> OnHub:
    url = f"{world.hub}/api/models/{weights.repository}/revision/{weights.revision}"
    try:
        answer = requests.get(url, timeout=_HUB_TIMEOUT_S)
    except requests.RequestException as error:
        raise UnansweredError(f"{world.hub} cannot be reached: {type(error).__name__}") from error
    status, gated = answer.status_code, _gated(world, answer)
    if weights.token_secret is None:
        return OnHub(path, weights.repository, weights.revision, status, gated=gated)
    name = f"projects/{target.project}/secrets/{weights.token_secret}/versions/latest"
    try:
        found: dict[str, Any] = world.google.call("secretmanager", "projects.secrets.versions.get", name=name)
    except NotFoundError:
        found = {}
    state = found.get("state", "")
    return OnHub(path, weights.repository, weights.revision, status, weights.token_secret, state, gated)


def _gated(world: World, answer: requests.Response) -> str:
    """Return how the terms of a repository are accepted: the hub describes a gated one to anybody, too."""
    if answer.status_code != requests.codes.ok:
        return ""
    try:
        gated = answer.json().get("gated")
    except (ValueError, AttributeError) as error:
        raise UnansweredError(f"{world.hub} sent something that is no description of a model") from error
    return str(gated) if gated else ""


def judge_weights(_: Target, places: list[Place]) -> list[Finding]:
    """Tell for each set of weights whether it is there and whole."""
    return [finding for place in places for finding in _judged(place)]


def _judged(place: Place) -> list[Finding]:
    return [_bucket(place)] if isinstance(place, InBucket) else [_hub(place), *_secret(place)]


def _bucket(place: InBucket) -> Finding:
    where = f"gs://{place.bucket}/{place.prefix}"
    asked = f"{where} holds the checkpoint"
    gb = f"{place.found_bytes / 1e9:,.0f} GB in {len(place.files)} files"
    if not place.exists:
        return Finding.problem(
            "bucket-missing",
            f"{place.path}.bucket",
            asked,
            found=f"there is no bucket {place.bucket}",
            needed="an existing bucket",
            remedy=f"correct the name, or gcloud storage buckets create gs://{place.bucket} and copy the weights",
        )
    if "config.json" not in place.files or not any(name.endswith(".safetensors") for name in place.files):
        return Finding.problem(
            "weights-missing",
            f"{place.path}.prefix",
            asked,
            found=f"{gb}, without config.json or without *.safetensors" if place.files else "nothing is there",
            needed="config.json, the tokenizer and *.safetensors right under the prefix",
            remedy=f"gcloud storage cp --recursive ./CHECKPOINT/* {where}, or correct the prefix",
        )
    if place.found_bytes < _CLOSE_ENOUGH * place.expected_bytes:
        return Finding.problem(
            "weights-incomplete",
            f"{place.path}.prefix",
            asked,
            found=gb,
            needed=f"about {place.expected_bytes / 1e9:,.0f} GB",
            remedy="copy the missing files; or name the checkpoint that is there (model.checkpoint)",
        )
    return Finding(asked, gb, f"about {place.expected_bytes / 1e9:,.0f} GB", path=place.path)


def _hub(place: OnHub) -> Finding:
    asked = f"the hub has {place.repository} at {place.revision}"
    if place.status == requests.codes.ok:
        return _gate(place, asked) if place.gated else Finding(asked, "it has", path=place.path)
    if place.status == requests.codes.not_found:
        return Finding.problem(
            "hub-revision-missing",
            place.path,
            asked,
            found="it has not",
            needed="a commit of a repository that is there",
            remedy="correct repository and revision",
        )
    if place.status in _GATED and not place.secret:
        return Finding.problem(
            "hub-token-needed",
            f"{place.path}.token_secret",
            asked,
            found=f"it does not tell without a login ({place.status}): gated, private, or not there",
            needed="a token in Secret Manager",
            remedy=f"accept the model's terms, store a read token as a secret, and name it: {place.path}.token_secret",
        )
    reason = "the token would be needed to ask, and preflight reads no secret" if place.secret else "the hub is unwell"
    return Finding(asked, f"it answers {place.status}: {reason}", standing=Standing.UNKNOWN, path=place.path,
                   remedy="ask the hub with your own login")  # fmt: skip


def _gate(place: OnHub, asked: str) -> Finding:
    if not place.secret:
        return Finding.problem(
            "hub-token-needed",
            f"{place.path}.token_secret",
            asked,
            found=f"it has, and gives the files only to who accepted its terms ({place.gated})",
            needed="a token in Secret Manager",
            remedy=f"accept the model's terms, store a read token as a secret, and name it: {place.path}.token_secret",
        )
    return Finding(
        asked,
        f"it has, and gives the files only to who accepted its terms ({place.gated}); whether the token's account did "
        "is not known, as preflight reads no secret",
        standing=Standing.UNKNOWN,
        path=place.path,
        remedy=f"log in to the hub as the token's account and look at the page of {place.repository}",
    )


def _secret(place: OnHub) -> list[Finding]:
    if not place.secret:
        return []
    asked, path = f"the secret {place.secret} has a version to read", f"{place.path}.token_secret"
    if place.secret_state == _READABLE:
        return [Finding(asked, "its latest version is enabled", path=path)]
    found = f"its latest version is {place.secret_state}" if place.secret_state else "there is none"
    return [
        Finding.problem(
            "secret-missing",
            path,
            asked,
            found=found,
            needed="a secret whose latest version is enabled",
            remedy=f"printf %s TOKEN | gcloud secrets create {place.secret} --data-file=-",
        )
    ]


WEIGHTS: Check[list[Place]] = Check(
    id="weights",
    asks="the weights are where the stack says",
    source="Cloud Storage API, objects.list; Hugging Face hub API; Secret Manager API, versions.get",
    rules=(
        "bucket-missing",
        "weights-missing",
        "weights-incomplete",
        "hub-revision-missing",
        "hub-token-needed",
        "secret-missing",
    ),
    look=_look,
    judge=judge_weights,
    applies=lambda target: not isinstance(target.spec.preset.model.storage, HyperdiskMl),
)
