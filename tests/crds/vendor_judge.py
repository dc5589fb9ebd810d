"""Have the vendors' own definitions judge every custom resource that the kit renders, by hand: with files brought here.

    python -m tests.crds.vendor_judge "COMMAND" DEFINITIONS

DEFINITIONS is a folder of the vendors' CustomResourceDefinitions outside this checkout, whose INDEX.tsv says of each
file: name, repository, ref, path, commit and date of its last change, commit and date of the repository, a note.
COMMAND judges a folder by them as an API server does under strict field validation, rules in CEL included: with FOLDER
DEFINITIONS --json it prints ``errors`` (file and object, path, message), ``no_schema`` and ``counts``; with --sources,
the file of every kind, a row each. Verdicts go to ``vendor_verdicts.yaml``, by the hash of an object's shape, see
``vendor_shapes``.
"""

from __future__ import annotations

import argparse
import copy
import csv
import datetime as dt
import hashlib
import json
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.crds.vendor_shapes import Body, bodies

__all__ = ["NO_SCHEMA", "VERDICTS", "misspelt"]

VERDICTS = Path(__file__).with_name("vendor_verdicts.yaml")
NO_SCHEMA = "no public schema"
_NOTES = {"DynamoGraphDeployment": "the definition of release 1.7.0 itself was not at hand"}
_COLUMNS = ("file", "repository", "ref", "path", "commit", "as_of", "head", "head_as_of", "note")


def misspelt(body: Body) -> Body:
    """Return an object with one wrong letter in the name of the first field of its specification."""
    broken = copy.deepcopy(dict(body))
    first, *others = broken["spec"].items()
    broken["spec"] = {f"{first[0]}x": first[1], **dict(others)}
    return broken


def _said(checker: list[str], definitions: Path, objects: Mapping[str, Body]) -> dict[str, list[str]]:
    """Give objects to the checker, each under a name; return what it says against each of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, body in objects.items():
            text = yaml.safe_dump(json.loads(json.dumps(body)), sort_keys=False)
            (Path(folder) / f"{name}.yaml").write_text(text, encoding="utf-8")
        command = [*checker, folder, str(definitions), "--json"]
        report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    if report["counts"].get("checked", 0) + sum(report["no_schema"].values()) != len(objects):
        raise SystemExit(f"not every object was judged: {report['counts']}")
    if not report["cel"]["available"]:
        raise SystemExit("the checker cannot evaluate rules in CEL here")
    against: dict[str, list[str]] = {name: [] for name in objects}
    for where, path, message in report["errors"]:
        against[where.split(".yaml")[0]].append(f"{path}: {message}")
    unknown = {f"{body['apiVersion']} {body['kind']}" for body in objects.values()} & report["no_schema"].keys()
    for name, body in objects.items():
        if f"{body['apiVersion']} {body['kind']}" in unknown:
            against[name] = [NO_SCHEMA]
    return against


def _sources(checker: list[str], definitions: Path) -> dict[tuple[str, str], dict[str, str]]:
    """By group and kind, the file that its schema is in."""
    with (definitions / "INDEX.tsv").open(encoding="utf-8") as index:
        rows = [dict(zip(_COLUMNS, row, strict=True)) for row in csv.reader(index, delimiter="\t")]
    files = {(row["repository"], row["path"]): row for row in rows}
    command = [*checker, "--sources", ".", str(definitions)]
    found = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        group, kind, _, repository, path, *_ = (cell.strip() for cell in line.strip("| ").split("|"))
        row = files[repository, path]
        content = (definitions / row["file"]).read_bytes()
        found[group, kind] = {
            "repository": f"https://github.com/{repository}",
            "path": path,
            "commit": row["commit"],
            "as_of": row["as_of"],
            "sha256": hashlib.sha256(content).hexdigest(),
            **({"note": note} if (note := "; ".join(filter(None, (row["note"], _NOTES.get(kind))))) else {}),
        }
    return found


def _judged(checker: list[str], definitions: Path) -> dict[str, dict[str, Any]]:
    """By kind: its definition, what is said of an object with a misspelt field, and a verdict for each shape."""
    about, sources = bodies(), _sources(checker, definitions)
    every = {
        f"{sha}-{stack}-{at}": body
        for (_, sha), stacks in about.items()
        for stack, group in stacks.items()
        for at, body in enumerate(group)
    }
    against = _said(checker, definitions, every)
    refused = _said(checker, definitions, {sha: misspelt(next(iter(s.values()))[0]) for (_, sha), s in about.items()})
    kinds: dict[str, dict[str, Any]] = {}
    for (name, sha), stacks in sorted(about.items()):
        api_version, kind = name.split()
        unknown = {"definition": NO_SCHEMA, "misspelt": NO_SCHEMA, "verdicts": []}
        known = {"definition": sources.get((api_version.partition("/")[0], kind)), "misspelt": [], "verdicts": []}
        found = kinds.setdefault(name, known if known["definition"] else unknown)
        if known["definition"]:
            found["misspelt"] = sorted({*found["misspelt"], "; ".join(refused[sha]) or "not refused"})
        said = sorted({line for key, lines in against.items() if key.startswith(sha) for line in lines})
        verdict = {"sha256": sha, "seen_in": next(iter(stacks)), "result": "; ".join(said) or "accepted"}
        found["verdicts"].append({**verdict, "date": dt.datetime.now(dt.UTC).date().isoformat()})
    print(f"{len(every)} objects, {len(about)} shapes")
    return kinds


def main() -> None:
    """Judge everything anew; a verdict like the last one, by the same definition, keeps its date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checker", type=shlex.split)
    parser.add_argument("definitions", type=Path)
    said = parser.parse_args()
    before = yaml.safe_load(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {}
    kinds = _judged(said.checker, said.definitions)
    for name, kind in kinds.items():
        if before.get(name, {}).get("definition") == kind["definition"]:
            _keep_dates(kind["verdicts"], before[name]["verdicts"])
    VERDICTS.write_text(_HEAD + "".join(_written(name, kind) for name, kind in kinds.items()), encoding="utf-8")
    results = [verdict["result"] for kind in kinds.values() for verdict in kind["verdicts"]]
    print({result: results.count(result) for result in sorted(set(results))})


def _keep_dates(verdicts: list[dict[str, Any]], old: list[dict[str, Any]]) -> None:
    known = {each["sha256"]: each for each in old}
    for each in verdicts:
        same = known.get(each["sha256"], {})
        if same.get("result") == each["result"]:
            each["date"] = same["date"]


def _written(name: str, kind: Mapping[str, Any]) -> str:
    """A verdict a line."""
    head = {key: value for key, value in kind.items() if key != "verdicts"}
    lines = [
        "  - " + yaml.safe_dump(each, default_flow_style=True, sort_keys=False, width=1000).strip()
        for each in kind["verdicts"]
    ]
    text = yaml.safe_dump({name: head}, sort_keys=False, width=1000)
    return "\n".join([text.rstrip(), "  verdicts:", *lines, ""])


_HEAD = """\
# What the vendors' own definitions said to each custom resource that the kit renders, by the hash of its shape, and to
# the same with a letter too many in the first field of its spec. Webhooks are no part of definitions.
# Written by tests/crds/vendor_judge.py; see CONTRIBUTING.md.
"""

if __name__ == "__main__":
    main()
