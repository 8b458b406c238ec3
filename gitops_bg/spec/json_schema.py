"""Generates JSON Schemas (draft 2020-12) of what users write, from the models: for editors. Knows no file.

They know each field; rules between fields, and between files, only `check` knows.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gitops_bg.spec.analysis.templates import AnalysisTemplate, ClusterAnalysisTemplate
from gitops_bg.spec.app.models import BlueGreenDeployment, Primary, Settings
from gitops_bg.spec.client_settings import ClientSettings
from gitops_bg.spec.groups.models import GroupVersion, ReleaseGroup, ServiceRoutes
from gitops_bg.spec.notifications.alert_providers import AlertProvider
from gitops_bg.spec.policies.cases import PromotionPolicyTest
from gitops_bg.spec.policies.models import People, PromotionPolicy

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

MODELS: dict[str, type[BaseModel]] = {
    model.__name__: model
    for model in (
        BlueGreenDeployment,
        Primary,
        Settings,
        AnalysisTemplate,
        ClusterAnalysisTemplate,
        AlertProvider,
        PromotionPolicy,
        PromotionPolicyTest,
        People,
        ReleaseGroup,
        GroupVersion,
        ServiceRoutes,
        ClientSettings,
    )
}
"""Each kind that users write, or read in a diff, and its model."""

_INT_OR_STRING = "x-kubernetes-int-or-string"


def schema_of(model: type[BaseModel], title: str) -> Schema:
    """The schema of one model."""
    return {"$schema": DRAFT, "title": title, **plain(model.model_json_schema(by_alias=True))}


def schema_of_all() -> Schema:
    """One schema of every kind: which one counts, ``kind`` of the document says."""
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
    """The same without what is for Kubernetes, and without the titles that pydantic makes of field names."""
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
