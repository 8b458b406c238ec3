"""Makes the CustomResourceDefinition of BlueGreenDeployment from the models; `deploy/crd.yaml` is what it prints.

The schema is structural, in the subset that Kubernetes 1.20 takes: no $ref, no anyOf, no defaults (the live spec stays
as written in Git). Rules between fields stay with the agent, which says them with a line number.
"""

import sys
from collections.abc import Mapping
from typing import Any

from gitops_bg.core.names import GROUP, KIND, PLURAL
from gitops_bg.spec.app.models import AppSpec
from gitops_bg.spec.yaml.emit import to_yaml

HEADER = """\
# Generated from gitops_bg/spec/app/models.py by `python -m gitops_bg.spec.crd`; a test compares. Do not edit.
"""

Schema = dict[str, Any]

_KEPT = ("type", "format", "pattern", "enum", "minimum", "maximum", "minLength", "minItems", "description")
_TEXT: Schema = {"type": "string"}
_TRUTH: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "integer", "format": "int64"}
_COUNT: Schema = {"type": "integer", "format": "int32"}
_MOMENT: Schema = {"type": "string", "format": "date-time"}


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition, ready to be applied."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["bgd"],
            },
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": _columns(),
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "description": "One app, run as a blue-green deployment. Its spec comes from Git.",
                "properties": {"spec": spec_schema(), "status": _status_schema()},
            }
        },
    }


def _columns() -> list[dict[str, Any]]:
    columns = [
        ("Active", "string", ".status.active.version"),
        ("Colour", "string", ".status.active.color"),
        ("Candidate", "string", ".status.candidate.version"),
        ("Phase", "string", ".status.phase"),
        ("Desired", "integer", ".status.desiredReplicas"),
        ("Available", "integer", ".status.availableReplicas"),
        ("Commit", "string", ".status.commit"),
        ("Image", "string", ".status.active.image"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ]
    only_wide = {"Commit", "Image"}
    return [
        {"name": name, "type": kind, "jsonPath": path, **({"priority": 1} if name in only_wide else {})}
        for name, kind, path in columns
    ]


def spec_schema() -> Schema:
    """The schema of ``spec``, from the model of app.yaml."""
    schema = AppSpec.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """A schema of pydantic in the subset of Kubernetes: references written out, "or null" dropped."""
    schema = _resolved(schema, definitions)
    if schema.get("x-kubernetes-int-or-string"):
        return _described(schema, {"x-kubernetes-int-or-string": True})
    result: Schema = {key: schema[key] for key in _KEPT if key in schema}
    if result.get("maximum") == 2**31 - 1:
        result["format"] = "int32"
    if isinstance(schema.get("additionalProperties"), Mapping):
        result["additionalProperties"] = _structural(schema["additionalProperties"], definitions)
    if "items" in schema:
        result["items"] = _structural(schema["items"], definitions)
    if "properties" in schema:
        result["properties"] = {key: _structural(each, definitions) for key, each in schema["properties"].items()}
        if schema.get("required"):
            result["required"] = schema["required"]
    return result


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    described = schema.get("description")
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    elif "anyOf" in schema:
        member = next(each for each in schema["anyOf"] if each.get("type") != "null")
        schema = _resolved(member, definitions)
    return {**schema, "description": described} if described else schema


def _described(schema: Mapping[str, Any], result: Schema) -> Schema:
    return {**result, "description": schema["description"]} if "description" in schema else result


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _status_schema() -> Schema:
    version = _object(version=_NUMBER, digest=_TEXT, color=_TEXT, commit=_TEXT, image=_TEXT)
    named = _object(digest=_TEXT, commit=_TEXT)
    record = {
        "type": "object",
        "description": "The agent's memory of the app. Of no use to anybody else, and different in every release.",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return _object(
        observedGeneration=_NUMBER,
        phase=_TEXT,
        message=_TEXT,
        commit={**_TEXT, "description": "The commit that brought the candidate, or else what is live."},
        target={**named, "description": "What the target names, and the commit that brought it."},
        primary={**named, "description": "What primary.yaml names, and the commit that made it do so."},
        active=version,
        preview=version,
        candidate=version,
        desiredReplicas={**_COUNT, "description": "Pods that the target asks for."},
        replicas={**_COUNT, "description": "Pods of all versions."},
        updatedReplicas={**_COUNT, "description": "Pods of the version that the target names."},
        readyReplicas={**_COUNT, "description": "Ready pods of the active version."},
        availableReplicas={**_COUNT, "description": "Available pods of the active version."},
        rollouts={"type": "array", "description": "The last rollouts, newest first.", "items": _rollout()},
        analysisRuns={
            "type": "array",
            "description": "The last run of each stage, and those before that are remembered; newest first.",
            "items": _run(),
        },
        conditions=_conditions(),
        gates={"type": "array", "items": _gate()},
        waits={"type": "array", "description": "All that is waited for.", "items": _wait()},
        record=record,
    )


def _rollout() -> Schema:
    waited = {**_NUMBER, "description": "Seconds that it waited for people, before waitingSince."}
    endings = "Promoted, FastPromoted, Aborted, Superseded, Cancelled or RolledBack"
    outcome = {**_TEXT, "description": f"{endings}; absent while under way."}
    return _object(
        number=_NUMBER,
        version=_NUMBER,
        digest=_TEXT,
        startedAt=_MOMENT,
        availableAt=_MOMENT,
        promotedAt={**_MOMENT, "description": "When primary.yaml was first seen to name its version."},
        switchedAt=_MOMENT,
        settledAt={**_MOMENT, "description": "When it was promoted for good, and the endpoints had followed."},
        waitingSince=_MOMENT,
        waitedSeconds=waited,
        commit={**_TEXT, "description": "The commit of main that named its version in primary.yaml."},
        finishedAt=_MOMENT,
        outcome=outcome,
    )


def _run() -> Schema:
    counts = dict.fromkeys(("count", "successful", "failed", "inconclusive", "error"), _NUMBER)
    texts_of = {"name": _TEXT, "finding": _TEXT, "value": _TEXT, "message": _TEXT}
    flags = {"dryRun": _TRUTH, "terminated": {**_TRUTH, "description": "The run was over before this metric was."}}
    answer = _object(measuredAt=_MOMENT, **texts_of, **flags, **counts)
    texts = {"type": "object", "additionalProperties": _TEXT}
    return _object(
        stage={**_TEXT, "description": "pre or post: before traffic moves, or after."},
        version=_NUMBER,
        rollout=_NUMBER,
        attempt={**_NUMBER, "description": "Counts the runs of one rollout; a pause is answered with a fresh one."},
        finding={**_TEXT, "description": "Running, Successful, Inconclusive, Error or Failed."},
        startedAt=_MOMENT,
        finishedAt=_MOMENT,
        labels=texts,
        annotations=texts,
        metrics={"type": "array", "items": answer},
    )


def _gate() -> Schema:
    return {**_object(kind=_TEXT, open={"type": "boolean"}, reason=_TEXT, until=_MOMENT), "required": ["kind", "open"]}


def _wait() -> Schema:
    wait = _object(gate=_TEXT, version=_NUMBER, commit=_TEXT, reason=_TEXT, until=_MOMENT)
    return {**wait, "required": ["gate", "version", "reason"]}


def _conditions() -> Schema:
    condition = _object(
        type=_TEXT,
        status={"type": "string", "enum": ["True", "False", "Unknown"]},
        observedGeneration=_NUMBER,
        lastTransitionTime=_MOMENT,
        reason=_TEXT,
        message=_TEXT,
    )
    return {
        "type": "array",
        "items": {**condition, "required": ["type", "status"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }


def render() -> str:
    """The text of ``deploy/crd.yaml``."""
    return HEADER + to_yaml(definition())


if __name__ == "__main__":
    sys.stdout.write(render())
