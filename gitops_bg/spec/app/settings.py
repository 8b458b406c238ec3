"""gitops-bg.yaml, the settings of a repository: its schema, and how it is read. A missing field has the default of the
model.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import DnsLabel, Matching, Text
from gitops_bg.spec.access import AccessRule
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.layout import APP_FILE, SETTINGS_FILE
from gitops_bg.spec.app.models import BlueGreenDeployment
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.declared import Declared
from gitops_bg.spec.notifications import AlertEntry, Alerting, Providers, check_alert_names
from gitops_bg.spec.yaml.reader import read_one

_LOGS = r"https?://[^\s{}]*(\{(namespace|app|pod|version)\}[^\s{}]*)*"
_LOGS_REMEDY = "use an address such as https://logs.example.com/?ns={namespace}&pod={pod}"


class Author(Model):
    """The author of the agent's commits."""

    name: Text = Field(default="gitops-bg", description="The name in commits.")
    email: Text = Field(default="gitops-bg@localhost", description="The mail address in commits.")


class ForgeSettings(Model):
    """``forge:`` of gitops-bg.yaml: promotion branches get pull requests. Every field is optional."""

    type: Literal["github", "gitlab", "gitea", "forgejo"] | None = Field(
        None, description="Which forge. Default: what the repository's URL says, else what the server answers."
    )
    url: Text | None = Field(
        None,
        description="The forge's address (`https://git.example.com`, with the folder it lives in), or the repository's "
        "on it. Default: what the repository's URL says.",
    )
    labels: list[Text] = Field(default_factory=list, description="Labels that each pull request gets.")
    reviewers: list[Text] = Field(
        default_factory=list, description="Who is asked to review it: logins, or team:NAME for a team."
    )
    assignees: list[Text] = Field(default_factory=list, description="To whom it is assigned.")
    comment: bool = Field(
        False, description="Keep one comment up to date with the status, for those who want a notification."
    )
    max_open_pull_requests: Annotated[int, Field(ge=1, le=10_000)] = Field(
        50, description="How many may be open at a time, the oldest first; the rest stays a branch that can be merged."
    )


class Links(Model):
    """``links:`` of gitops-bg.yaml: where pages of the dashboard lead. Every field is optional."""

    logs: Annotated[str, Matching(_LOGS, _LOGS_REMEDY)] | None = Field(
        None,
        description="The logs of a pod, such as `https://logs.example.com/?ns={namespace}&pod={pod}`; also `{app}`, "
        "and `{version}`, its number. Default: a page says by which command they are read.",
    )


class Settings(Model):
    """``gitops-bg.yaml``: settings for the whole repository. Every field is optional."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["Settings"]
    history_generation: Annotated[int, Field(ge=0)] = Field(
        0,
        description="The generation of main's history. A greater one accepts a history that was rewritten: "
        "`gitops-bg accept-history`.",
    )
    accepted_history: (
        Annotated[str, Matching(r"[0-9a-f]{40}([0-9a-f]{24})?", "use a full commit id: 40 or 64 hexadecimal digits")]
        | None
    ) = Field(None, description="Means nothing any more: `historyGeneration` took its place.")
    max_deleted_apps_percent: Annotated[int, Field(ge=0, le=100)] = Field(
        20, description="Nothing is deleted when one commit removes more than this share of all apps, in percent."
    )
    commit_author: Author = Field(default_factory=Author)
    require: list[DnsLabel] | None = Field(
        None,
        description="Policies without which nothing is promoted that they would be for: where one is missing or "
        "broken, it is shut.",
    )
    forge: ForgeSettings | None = Field(
        None, description="Open a pull request for each promotion branch. Without it a promotion is a branch only."
    )
    alerts: list[AlertEntry] | None = Field(
        None, description="Who is told what happens to every app that has no spec.analysis.alerts of its own."
    )
    access: list[Declared[AccessRule]] = Field(
        default_factory=list,
        description="Who may do what on the dashboard. Default: everybody who is logged in sees everything, and nobody "
        "acts.",
    )

    links: Links | None = Field(None, description="Where pages of the dashboard lead.")

    @model_validator(mode="after")
    def _has_names(self) -> Self:
        check_alert_names(self.alerts or ())
        return self


def default_settings() -> Settings:
    """Return the settings of a repository without gitops-bg.yaml."""
    return Settings.model_validate({"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "Settings"})


def new_settings(generation: int) -> bytes:
    """Return a gitops-bg.yaml with only the generation of main's history."""
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
    """Return the shared alerts; no defaults where gitops-bg.yaml is missing or broken."""
    document, _ = read_one(SETTINGS_FILE, data) if data is not None else (None, ())
    settings, _ = validate(Settings, document) if document else (None, ())
    if document is None or settings is None:
        return Alerting(providers)
    return Alerting(providers, tuple(settings.alerts or ()), document)
