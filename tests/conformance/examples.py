"""One value of each field, out of files that hold every field and that the models take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from gitops_bg.spec.analysis.templates import TemplateSpec
from gitops_bg.spec.app.models import AppFields
from gitops_bg.spec.app.settings import Settings
from gitops_bg.spec.environments.load import EnvironmentsDocument
from gitops_bg.spec.groups.models import GroupFields, RoutesDocument, VersionDocument
from gitops_bg.spec.notifications import ProviderSpec
from gitops_bg.spec.policies.models import People, PolicySpec
from gitops_bg.web.access.login_file import LoginFile

FOLDER = Path(__file__).with_name("examples")
MODELS: dict[str, type[BaseModel]] = {
    "app": AppFields,
    "group": GroupFields,
    "group-version": VersionDocument,
    "group-routes": RoutesDocument,
    "policy": PolicySpec,
    "people": People,
    "analysis-template": TemplateSpec,
    "alert-provider": ProviderSpec,
    "settings": Settings,
    "environments": EnvironmentsDocument,
    "login": LoginFile,
}
"""The files, and what reads each document of them."""
LONGEST = 64
"""Characters of an example; a longer one is a block, and shown by its fields."""


def documents(name: str) -> list[Any]:
    """The documents of a file."""
    return list(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


@cache
def examples(name: str, below: str = "") -> dict[str, str]:
    """The first value of each field, as YAML on one line; empty where it is long, or has fields of its own.

    >>> examples("app")["minReadySeconds"], examples("app")["suspend.until"], examples("app")["strategy"]
    ('10', '"2026-12-27T08:00:00Z"', '')
    >>> examples("analysis-template", "metrics[].provider.")["web.method"]
    'POST'
    """
    found: dict[str, str] = {}
    for document in documents(name):
        for path, value in _values(document, ""):
            if path.startswith(below):
                found.setdefault(path.removeprefix(below), _shown(value))
    return found


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.{key}".removeprefix(".")
            yield name, inner
            yield from _values(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, f"{path}[]")


def _shown(value: Any) -> str:
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        return ""
    lists = value if isinstance(value, list) else []
    items = [item for each in lists for item in (each if isinstance(each, list) else [each])]
    if any(isinstance(each, dict | list) for each in items):
        return ""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    text = text.removesuffix("\n").removesuffix("\n...")
    if isinstance(value, str) and text.startswith("'"):
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else ""
