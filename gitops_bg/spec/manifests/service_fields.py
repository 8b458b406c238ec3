"""Which field of app.yaml names which Service, so that `check` can report its line."""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.model.spec import Strategy
from gitops_bg.spec.yaml.paths import Path

LIVE, CANDIDATE = "live traffic", "the candidate"
_BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")


def service_fields(strategy: Strategy, app: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    """For each Service: its name, the field of ``app`` (app.yaml as written) that names it, and what it carries."""
    said = app.get("spec", {}).get("strategy", {}).get("blueGreen", {})
    for place, name in enumerate(strategy.active_services):
        field: Path = ("activeServices", place) if said.get("activeServices") else ("activeService",)
        yield name, (*_BLUE_GREEN, *field), LIVE
    if strategy.preview_service:
        yield strategy.preview_service, (*_BLUE_GREEN, "previewService"), CANDIDATE
