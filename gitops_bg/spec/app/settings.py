"""Reads gitops-bg.yaml, the settings of a repository. A missing field has the default of the model."""

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE, SETTINGS_FILE
from gitops_bg.spec.app.models import BlueGreenDeployment, Settings
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.notifications import Alerting, Providers
from gitops_bg.spec.yaml.reader import read_one


def default_settings() -> Settings:
    """The settings of a repository without gitops-bg.yaml."""
    return Settings.model_validate({"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "Settings"})


def new_settings(generation: int) -> bytes:
    """A gitops-bg.yaml with only the generation of main's history."""
    return f"apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\nhistoryGeneration: {generation}\n".encode()


def read_settings(data: bytes, file: str = SETTINGS_FILE) -> tuple[Settings | None, tuple[Problem, ...]]:
    """Read the settings; None and the problems where they are invalid."""
    document, problems = read_one(file, data)
    return validate(Settings, document, {APP_FILE: BlueGreenDeployment}) if document else (None, problems)


def load_settings(data: bytes, file: str = SETTINGS_FILE) -> Settings:
    """Read the settings. Raises `InvalidInput` with every problem."""
    settings, problems = read_settings(data, file)
    if settings is None:
        raise InvalidInput(*problems)
    return settings


def alerting_of(data: bytes | None, providers: Providers) -> Alerting:
    """The shared alerts; no defaults where gitops-bg.yaml is missing or broken."""
    document, _ = read_one(SETTINGS_FILE, data) if data is not None else (None, ())
    settings, _ = validate(Settings, document) if document else (None, ())
    if document is None or settings is None:
        return Alerting(providers)
    return Alerting(providers, tuple(settings.alerts or ()), document)
