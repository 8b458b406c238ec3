"""``spec.render`` of app.yaml: what a target is rendered from, by `gitops-bg render`. The agent never renders."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_bg.core.written import Conflict, DnsLabel
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.layout import APPS_FOLDER, GROUPS_FOLDER

_PART = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@+-]*")


def _in_repository(path: str) -> str:
    """Check a path: it names a file or folder of the repository, and is no option of a command."""
    parts = path.split("/")
    if not all(_PART.fullmatch(part) and part not in (".", "..") for part in parts):
        raise Conflict("", f"{path!r} is no path of the repository", "write it from the repository's root: web/overlay")
    if parts[0] in (APPS_FOLDER, GROUPS_FOLDER):
        message = f"lies in {parts[0]}/, where every file is a manifest that the agent reads"
        raise Conflict("", message, "move it elsewhere in the repository")
    return path


RepositoryPath = Annotated[str, AfterValidator(_in_repository)]
"""A path from the root of the repository, with slashes."""


class HelmChart(Model):
    """A chart of the repository."""

    chart: RepositoryPath = Field(description="The chart's folder or archive, from the repository's root.")
    values: list[RepositoryPath] = Field(
        default_factory=list, description="Files of values, from the repository's root; later ones count more."
    )
    release: DnsLabel | None = Field(None, description="The name of the release; the app's where absent.")


class Render(Model):
    """What the target is rendered from: exactly one of these."""

    kustomize: RepositoryPath | None = Field(
        None, description="The folder of a kustomization.yaml, from the repository's root."
    )
    helm: HelmChart | None = Field(None, description="A Helm chart, and its values.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.kustomize is None) == (self.helm is None):
            raise Conflict("", "must have exactly one of kustomize and helm", "write kustomize: web/overlay")
        return self

    @property
    def source(self) -> str:
        """What it is rendered from, in words."""
        return f"the chart {self.helm.chart}" if self.helm else f"the kustomization {self.kustomize}"
