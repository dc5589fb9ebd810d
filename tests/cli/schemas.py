"""JSON Schemas of what the verbs write: closed, so that a new or missing key is a decision and not an accident."""

from __future__ import annotations

from typing import Any

__all__ = [
    "CHECK", "DIFF", "DOWN", "FORK", "LOCK", "LOGS", "PLAN", "PREFLIGHT", "PRESET", "PRESETS", "PROBLEMS", "RECOVER",
    "RENDER", "SHELL", "SIZE", "STATUS", "UP",
]  # fmt: skip

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
COUNT = {"type": "integer", "minimum": 0}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _or_null(kind: str) -> dict[str, Any]:
    return {"type": [kind, "null"]}


_PROBLEM = _object(
    rule=TEXT,
    path=TEXT,
    why=TEXT,
    remedy=TEXT,
    value={},
    allowed=TEXT,
    where=TEXT,
    source=TEXT,
    severity={"enum": ["error", "warning", "note"]},
)
_PROBLEMS = _list(_PROBLEM)
_STANDING = {"enum": ["measured", "documented", "derived", "unverified"]}
_EVIDENCE = _list(_object(feature=TEXT, status=_STANDING, as_of=TEXT, source=TEXT, note=TEXT))
_DERIVED = _list(_object(name=TEXT, value={"type": ["number", "string", "null"]}, unit=TEXT, formula=TEXT))
_RESOURCE = _object(urn=TEXT, type=TEXT, name=TEXT, parent=TEXT, inputs={"type": "object"})
_IN_SHORT = {
    "preset": TEXT,
    "description": TEXT,
    "production": {"type": "boolean"},
    "hardware": _object(machine_type=TEXT, nodes=COUNT, gpu=TEXT, gpus_per_node=COUNT),
    "model": TEXT,
    "precision": TEXT,
    "evidence": {"type": "object", "propertyNames": _STANDING, "additionalProperties": COUNT},
    "usd_per_hour": _or_null("number"),
}

PROBLEMS = _object(problems=_PROBLEMS)
PRESETS = _object(presets=_list(_object(**_IN_SHORT)), problems=_PROBLEMS)
PRESET = _object(**{**_IN_SHORT, "evidence": _EVIDENCE}, composition={"type": "object"}, derived=_DERIVED)
_CHANGE = _object(path=TEXT, old={}, new={}, effect={"enum": ["update", "may-replace", "replace"]})
_OPERATION = {"enum": ["create", "same", "update", "may-replace", "replace", "delete"]}
_CHANGES = _object(
    resources=_list(_object(urn=TEXT, name=TEXT, operation=_OPERATION, changes=_list(_CHANGE), cause=TEXT)),
    others=_object(new=COUNT, gone=COUNT),
    simulated={"type": "boolean"},
)
PLAN = _object(
    stack=TEXT,
    preset=_or_null("string"),
    problems=_PROBLEMS,
    changes={"anyOf": [_CHANGES, {"type": "null"}]},
    resources=_list(_RESOURCE),
    derived=_DERIVED,
    evidence=_EVIDENCE,
)
_DIFFERENCE = _object(path=TEXT, change={"enum": ["added", "removed", "changed", "replaced"]}, old={}, new={})
_SIDE = _object(stack=TEXT, preset=_or_null("string"), problems=_PROBLEMS)
DIFF = _object(
    old=_SIDE,
    new=_SIDE,
    compared={"type": "boolean"},
    settings=_list(_DIFFERENCE),
    preset=_list(_DIFFERENCE),
    evidence=_list(
        _object(
            feature=TEXT, old={"anyOf": [_STANDING, {"type": "null"}]}, new={"anyOf": [_STANDING, {"type": "null"}]}
        )
    ),
    derived=_list(_object(name=TEXT, unit=TEXT, old={}, new={})),
    resources=_list(
        _object(
            type=TEXT,
            kind=TEXT,
            name=TEXT,
            old_name=TEXT,
            change={"enum": ["added", "removed", "changed", "replaced"]},
            differences=_list(_DIFFERENCE),
        )
    ),
    same=COUNT,
)
_COUNTS = ("replicas", "bytes_per_replica", "tokens_per_replica", "contexts_per_replica", "sessions_per_replica")
_BASIS = {"enum": ["catalog", "preset", "derived", "assumed", "unknown"]}
_UNIT = {"enum": ["bytes", "tokens", "tokens/s", "GB/s", "s", "USD/h", "disks"]}
_TIER = {"enum": ["hbm", "host_dram", "local_ssd"]}
_FIGURE = _object(name=TEXT, value=_or_null("number"), unit=_UNIT, formula=TEXT, basis=_BASIS)
SIZE = _object(
    stack=TEXT,
    preset=TEXT,
    session=_object(tokens=COUNT, source=TEXT),
    sections=_list(_object(name=TEXT, title=TEXT, figures=_list(_FIGURE))),
    tiers=_list(
        _object(
            tier=_TIER,
            role={"enum": ["worker", "prefill", "decode"]},
            **dict.fromkeys(_COUNTS, COUNT),
            formula=TEXT,
            basis=_BASIS,
            tokens=COUNT,
            sessions=COUNT,
        )
    ),
    verdicts=_list(
        _object(
            tier=_TIER,
            verdict={"enum": ["holds", "can pay", "adds little", "no room", "not offered"]},
            why=TEXT,
            largest_gib_per_node=_or_null("integer"),
            times_hbm=_or_null("number"),
        )
    ),
    problems=_PROBLEMS,
)
_FINDING = _object(
    check=TEXT,
    asked=TEXT,
    found=TEXT,
    needed=TEXT,
    path=TEXT,
    standing={"enum": ["ok", "problem", "could not look"]},
    rule=TEXT,
    remedy=TEXT,
    source=TEXT,
)
PREFLIGHT = _object(
    stack=TEXT,
    preset=_or_null("string"),
    project=TEXT,
    simulated={"type": "boolean"},
    findings=_list(_FINDING),
    problems=_PROBLEMS,
)
CHECK = _object(stacks=_list(_object(stack=TEXT, preset=_or_null("string"), problems=_PROBLEMS)))
_RELEASE = _object(
    file=TEXT,
    release=TEXT,
    namespace=TEXT,
    chart=TEXT,
    repository=_or_null("string"),
    version=TEXT,
    values={"type": "object"},
)
RENDER = _object(stack=TEXT, folder=TEXT, changed=TEXTS, unchanged=TEXTS, removed=TEXTS, releases=_list(_RELEASE))
FORK = _object(
    preset=TEXT,
    extends=TEXT,
    hardware=_or_null("string"),
    written=TEXTS,
    changes=_list(_object(path=TEXT, was={}, **{"is": {}}, why=TEXT)),
    accept_unverified=TEXTS,
    problems=_PROBLEMS,
)
LOCK = _object(
    images=_list(
        _object(
            image=TEXT,
            digest={"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"},
            standing={"enum": ["new", "unchanged", "moved", "kept", "unresolved", "removed"]},
        )
    ),
    problems=_PROBLEMS,
)

_TRUE = {"const": True}
_TRUTH = {"type": "boolean"}
_SERVER = _object(name=TEXT, pid=COUNT, alive=_TRUTH, memory_mib=_or_null("integer"), log=TEXT, simulated=_TRUTH)
_SANDBOX = _object(
    name=TEXT,
    state={"enum": ["absent", "half-made", "running", "degraded", "stopped"]},
    folder=TEXT,
    processes=_list(_SERVER),
    endpoint=TEXT,
    kubeconfig=TEXT,
    time_scale={"type": "number"},
    applied=_TRUTH,
    resources=COUNT,
    nodes_ready=TEXT,
    pods_ready=TEXT,
    problems=_PROBLEMS,
    simulated=_TRUE,
)

UP = _object(
    name=TEXT,
    changes={"type": "object", "additionalProperties": COUNT},
    verified_unchanged=_TRUTH,
    outputs={"type": "object"},
    warnings=_PROBLEMS,
    seconds={"type": "object", "additionalProperties": {"type": "number"}},
    simulated=_TRUE,
)
DOWN = _object(name=TEXT, existed=_TRUTH, destroyed=COUNT, proven_empty=_TRUTH)
STATUS = _object(sandboxes=_list(_SANDBOX))
SHELL = _object(command=TEXTS, folder=TEXT, environment={"type": "object", "additionalProperties": TEXT})
LOGS = {
    "oneOf": [_object(log={"type": "null"}, logs=TEXTS), _object(log=TEXT, lines=TEXTS)],
}
RECOVER = _object(
    stack=TEXT,
    findings=_list(_object(subject=TEXT, found=TEXT, will=TEXT, by_hand=TEXT)),
    changed=_TRUTH,
    done=_list(_object(subject=TEXT, did=TEXT)),
    problems=_PROBLEMS,
)
