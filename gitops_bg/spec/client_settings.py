"""`.gitops-bg.yaml`: what a command line must be told once, by kube context. In a repository it says which branch and
cluster; where the repository is and how to reach it, each person says in a file of their own: no repository sends
anybody's token anywhere.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import Text
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.yaml.reader import Document, read_one

CLIENT_SETTINGS_FILE = ".gitops-bg.yaml"
OF_A_REPOSITORY = ("branch", "cluster")
"""What the file in a repository may say."""


class ClientContext(Model):
    """What counts in a kube context, all of it optional. A file in a repository has `branch` and `cluster` only."""

    branch: Text | None = Field(None, description="The branch that is deployed there.")
    cluster: Text | None = Field(None, description="What the agent there is called (`--cluster`): it names the ledger.")
    repo: Text | None = Field(None, description="The configuration repository, as `--repo`.")
    git_username: Text | None = Field(None, description="The user of the token.")
    git_token_file: Text | None = Field(None, description="A file with the token for https. `~` is your home.")
    git_ca_file: Text | None = Field(None, description="Certificates to trust for https.")
    ssh_key_file: Text | None = Field(None, description="The private key for ssh.")
    known_hosts_file: Text | None = Field(None, description="The host keys for ssh.")
    signing_key: Text | None = Field(None, description="An SSH key to sign commits with.")


class ClientSettings(Model):
    """``.gitops-bg.yaml``: what commands need where no live object says it."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["ClientSettings"]
    default: ClientContext | None = Field(None, description="What counts in every context.")
    contexts: dict[str, ClientContext] = Field(
        default_factory=dict, description="What counts in a context of the kubeconfig, before `default`, by its name."
    )

    def settings_in(self, context: str) -> dict[str, str]:
        """Return what counts in a context, by field; empty: in none."""
        said = dict[str, str]()
        for each in (self.default, self.contexts.get(context)):
            said |= each.model_dump(exclude_none=True) if each is not None else {}
        return said


def read_client_settings(
    data: bytes, file: str = CLIENT_SETTINGS_FILE, *, of_repository: bool
) -> tuple[ClientSettings | None, tuple[Problem, ...]]:
    """Read the file of a repository, or of a person; None and the problems where it is invalid."""
    document, problems = read_one(file, data)
    if document is None:
        return None, problems
    settings, problems = validate(ClientSettings, document)
    if settings is not None and of_repository:
        problems = tuple(_of_persons(settings, document))
    return (None if problems else settings), problems


def _of_persons(settings: ClientSettings, document: Document) -> Iterator[Problem]:
    """Yield a problem for each field that no repository may say."""
    places: list[tuple[tuple[str, ...], ClientContext | None]] = [(("default",), settings.default)]
    places += [(("contexts", name), each) for name, each in settings.contexts.items()]
    for path, context in places:
        for field in sorted(context.model_fields_set - set(OF_A_REPOSITORY)) if context is not None else ():
            key = ClientContext.model_fields[field].alias or field
            remedy = f"write it into ~/.config/gitops-bg/{CLIENT_SETTINGS_FILE}, a file of your own"
            yield document.problem((*path, key), "is for no file of a repository, which others write", remedy)
