"""Generates schemas from the models: the CustomResourceDefinitions `deploy/crd.yaml` and
`deploy/crd-releasegroups.yaml`, and JSON Schemas (draft 2020-12) of what users write, for editors. Knows no file.

The schema of a definition is structural, in the subset that Kubernetes 1.20 accepts: no $ref, no anyOf, no defaults
(the live spec stays as written in Git). The agent checks rules between fields, and reports them with a line number.
JSON Schemas know each field, too; rules between fields, and between files, only `check` knows.
"""

import sys
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.names import GROUP, GROUP_KIND, GROUP_PLURAL, KIND, OWN_LABELS, PLURAL
from gitops_bg.spec import status
from gitops_bg.spec.analysis.templates import AnalysisTemplate, ClusterAnalysisTemplate
from gitops_bg.spec.app.models import AppFields, BlueGreenDeployment, PrimaryDocument
from gitops_bg.spec.app.settings import Settings
from gitops_bg.spec.client_settings import ClientSettings
from gitops_bg.spec.declared import described
from gitops_bg.spec.environments.load import EnvironmentsDocument
from gitops_bg.spec.environments.release import ReleaseDocument
from gitops_bg.spec.groups.models import GroupFields, ReleaseGroup, RoutesDocument, VersionDocument
from gitops_bg.spec.notifications import AlertProvider
from gitops_bg.spec.policies.cases import PromotionPolicyTest
from gitops_bg.spec.policies.models import People, PromotionPolicy
from gitops_bg.spec.status import GroupStatus, Status, StatusPart
from gitops_bg.spec.yaml.scalars import to_yaml

HEADER = """\
# Generated from gitops_bg/core and gitops_bg/spec by `python -m gitops_bg.spec.crd`; a test compares. Do not edit.
"""
GROUP_HEADER = """\
# Generated from gitops_bg/core and gitops_bg/spec by `python -m gitops_bg.spec.crd releasegroups`; a test compares.
# Do not edit.
"""

Schema = dict[str, Any]

_KEPT = ("type", "format", "pattern", "enum", "minimum", "maximum", "minLength", "minItems", "description")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What differs between our kinds. Columns: name, type, path; those in ``wide`` are shown with ``-o wide`` only."""

    name: str
    plural: str
    short: str
    says: str
    spec: type[BaseModel]
    status: type[StatusPart]
    columns: tuple[tuple[str, str, str], ...]
    wide: frozenset[str] = frozenset()


_READY = ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status')
_APP = _Kind(
    KIND,
    PLURAL,
    "bgd",
    "One app, run as a blue-green deployment. Its spec comes from Git.",
    AppFields,
    Status,
    (
        ("Phase", "string", ".status.phase"),
        ("Active", "string", ".status.active.name"),
        ("Candidate", "string", ".status.candidate.name"),
        _READY,
        ("Color", "string", ".status.active.color"),
        ("Desired", "integer", ".status.desiredReplicas"),
        ("Available", "integer", ".status.availableReplicas"),
        ("Commit", "string", ".status.commit"),
        ("Image", "string", ".status.active.image"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ),
    frozenset({"Color", "Desired", "Available", "Commit", "Image"}),
)
_GROUP = _Kind(
    GROUP_KIND,
    GROUP_PLURAL,
    "rg",
    "Several services that are promoted and rolled back together. Its spec comes from Git.",
    GroupFields,
    GroupStatus,
    (
        ("Phase", "string", ".status.phase"),
        ("Active", "string", ".status.active"),
        ("Candidates", "string", ".status.candidates"),
        _READY,
        ("Legacy", "string", ".status.legacy"),
        ("Commit", "string", ".status.commit"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ),
    frozenset({"Legacy", "Commit"}),
)


def definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition of BlueGreenDeployment, ready to be applied."""
    return _definition(_APP)


def group_definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition of ReleaseGroup, ready to be applied."""
    return _definition(_GROUP)


def _definition(kind: _Kind) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}", "labels": OWN_LABELS},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short],
                "categories": ["gitops-bg"],
            },
            "versions": [_version(kind)],
        },
    }


def _version(kind: _Kind) -> dict[str, Any]:
    return {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": name, "type": of, "jsonPath": path, **({"priority": 1} if name in kind.wide else {})}
            for name, of, path in kind.columns
        ],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "description": kind.says,
                "properties": {"spec": _schema_of(kind.spec), "status": status_schema(kind.status)},
            }
        },
    }


def spec_schema() -> Schema:
    """Return the schema of ``spec``, from the model of app.yaml."""
    return _schema_of(AppFields)


def _schema_of(model: type[BaseModel]) -> Schema:
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def status_schema(part: type[StatusPart]) -> Schema:
    """Return the schema of a status, or of a part of one, with the docstrings below its fields as their
    descriptions.
    """
    schemas, definitions = msgspec.json.schema_components([part])
    for name, each in definitions.items():
        texts, properties = described_fields(_PARTS[name]), each.get("properties", {})
        described_too = {
            key: {"description": texts[key], **it} if key in texts else it for key, it in properties.items()
        }
        # As pydantic sorts what it makes of the spec:
        each["properties"] = {key: dict(sorted(it.items())) for key, it in described_too.items()}
    return _structural(schemas[0], definitions)


_PARTS = {name: each for name, each in vars(status).items() if isinstance(each, type) and issubclass(each, StatusPart)}


def described_fields(part: type[StatusPart]) -> Mapping[str, str]:
    """Return the docstrings below the fields of a part of a status, by the names that are stored."""
    ours = [each for each in part.__mro__ if each.__module__ == part.__module__]
    texts = {name: text for each in ours for name, text in described(each).items()}
    fields = msgspec.structs.fields(part)
    return {field.encode_name: texts[field.name] for field in fields if field.name in texts}


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Convert a schema of pydantic to the subset of Kubernetes: references resolved, "or null" dropped."""
    schema = _resolved(schema, definitions)
    if schema.get("x-kubernetes-int-or-string"):
        return _described(schema, {"x-kubernetes-int-or-string": True})
    result: Schema = {key: schema[key] for key in schema if key in _KEPT or key.startswith("x-kubernetes-")}
    if result.get("maximum") == 2**31 - 1:
        result["format"] = "int32"
    for values in _of_a_map(schema):
        result["additionalProperties"] = _structural(values, definitions)
    if "items" in schema:
        result["items"] = _structural(schema["items"], definitions)
    if "properties" in schema:
        result["properties"] = {key: _structural(each, definitions) for key, each in schema["properties"].items()}
        if schema.get("required"):
            result["required"] = schema["required"]
    return result


def _of_a_map(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schema of the values of a map, whatever its keys may be: Kubernetes knows no patterns of them."""
    given = [schema.get("additionalProperties"), *(schema.get("patternProperties") or {}).values()]
    return [each for each in given if isinstance(each, Mapping)]


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    own = {key: value for key, value in schema.items() if key == "description" or key.startswith("x-kubernetes-")}
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    elif "anyOf" in schema:
        member = next(each for each in schema["anyOf"] if each.get("type") != "null")
        schema = _resolved(member, definitions)
    return {**schema, **own}


def _described(schema: Mapping[str, Any], result: Schema) -> Schema:
    return {**result, "description": schema["description"]} if "description" in schema else result


def render() -> str:
    """Return the text of ``deploy/crd.yaml``."""
    return HEADER + to_yaml(definition())


def render_group() -> str:
    """Return the text of ``deploy/crd-releasegroups.yaml``."""
    return GROUP_HEADER + to_yaml(group_definition())


DRAFT = "https://json-schema.org/draft/2020-12/schema"

MODELS: dict[str, type[BaseModel]] = {
    typing.get_args(model.model_fields["kind"].annotation)[0]: model
    for model in (
        BlueGreenDeployment,
        PrimaryDocument,
        Settings,
        AnalysisTemplate,
        ClusterAnalysisTemplate,
        AlertProvider,
        PromotionPolicy,
        PromotionPolicyTest,
        People,
        ReleaseGroup,
        VersionDocument,
        RoutesDocument,
        EnvironmentsDocument,
        ReleaseDocument,
        ClientSettings,
    )
}
"""Each kind that users write, or read in a diff, and its model."""

_INT_OR_STRING = "x-kubernetes-int-or-string"


def schema_of(model: type[BaseModel], title: str) -> Schema:
    """Return the schema of one model."""
    return {"$schema": DRAFT, "title": title, **plain(model.model_json_schema(by_alias=True))}


def schema_of_all() -> Schema:
    """Return one schema of every kind: which one counts, ``kind`` of the document says."""
    refs, definitions = models_json_schema([(model, "validation") for model in MODELS.values()], by_alias=True)
    return {
        "$schema": DRAFT,
        "title": "A file of a gitops-bg repository",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"kind": {"enum": list(MODELS)}},
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": refs[model, "validation"],
            }
            for kind, model in MODELS.items()
        ],
        **plain(definitions),
    }


def plain(schema: Mapping[str, Any]) -> Schema:
    """Return the same without what is for Kubernetes, and without the titles that pydantic makes of field names."""
    result: Schema = {}
    for key, value in schema.items():
        if key == _INT_OR_STRING:
            result["type"] = ["integer", "string"]
        elif key in ("properties", "patternProperties", "$defs"):
            result[key] = {name: plain(each) for name, each in value.items()}
        elif isinstance(value, Mapping) and key not in ("default", "const"):
            result[key] = plain(value)
        elif isinstance(value, list) and key in ("anyOf", "allOf", "oneOf", "prefixItems"):
            result[key] = [plain(each) for each in value]
        elif key != "title":
            result[key] = value
    return result


if __name__ == "__main__":
    sys.stdout.write(render_group() if sys.argv[1:] == [GROUP_PLURAL] else render())
