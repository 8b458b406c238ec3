"""The file of ``--dashboard-login-file``: at which provider people log in, and the hashes of the tokens of scripts."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import MinLen
from pydantic import Field

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import Matching, Text
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.declared import Declared
from gitops_bg.spec.yaml.reader import read_one

_ISSUER = r"https://[^\s?#]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?(/[^\s?#]*)?"


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider at which people log in."""

    issuer: Annotated[str, Matching(_ISSUER, "use the issuer's https address, as its discovery document has it")]
    """Its address; `/.well-known/openid-configuration` below it says the rest."""
    client_id: Text
    """What the provider calls this dashboard."""
    client_secret_file: Text = ""
    """A file with the secret that the provider gave it. Default: none, for a public client."""
    scopes: tuple[Text, ...] = ()
    """What it is asked for. Default: openid, profile, email and groups."""
    name_claim: Text = "name"
    """Which claim has the name of the person, for commits."""
    groups_claim: Text = "groups"
    """Which claim has the groups that `access` in gitops-bg.yaml names."""
    forge: bool = False
    """Whether this provider is the forge of the repository (Gitea, Forgejo or GitLab). Then people approve at it from
    the dashboard, and what main refuses is merged there, under their own accounts; `scopes` has to let them.
    """


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A token for the dashboard and its API, by its hash."""

    name: Annotated[str, Matching(r"[\w.-]{1,63}", "use letters, digits, dots, dashes and underscores, at most 63")]
    """Whose it is; the author of the commits that are made with it."""
    sha256: Annotated[str, Matching(r"[0-9a-f]{64}", "use what `sha256sum` prints: 64 hexadecimal digits")]
    """The hash of the token: `openssl rand -hex 32 | tee token | tr -d '\\n' | sha256sum`."""
    groups: Annotated[tuple[Text, ...], MinLen(1)]
    """What `access` in gitops-bg.yaml gives roles to."""
    expires: datetime | None = None
    """When it ends, RFC 3339; never where absent."""
    email: Text = "gitops-bg@localhost"
    """The mail address of the commits that are made with it."""


class LoginFile(Model):
    """How people and scripts show who they are."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["DashboardLogin"]
    oidc: Declared[Provider] | None = Field(None, description="At which provider people log in.")
    tokens: list[Declared[TokenEntry]] = Field(default_factory=list, description="The tokens of scripts.")


def parse_login_file(data: bytes, file: str) -> LoginFile:
    """Read the file. Raises `InvalidInput` with every problem, also for a name that occurs twice."""
    document, problems = read_one(file, data)
    read, problems = validate(LoginFile, document) if document is not None else (None, problems)
    if read is None or document is None:
        raise InvalidInput(*problems)
    names = [each.name for each in read.tokens]
    for number, name in enumerate(names):
        if name in names[:number]:
            remedy = "give each token a name of its own"
            raise InvalidInput(document.problem(("tokens", number, "name"), f"{name} is there twice", remedy))
    return read


def read_login_file(file: Path) -> LoginFile:
    """Read the file. Raises `InvalidInput`, also where it cannot be read."""
    try:
        data = file.read_bytes()
    except OSError as error:
        problem = Problem(str(file), f"cannot be read: {error.strerror}", remedy="make it a readable file")
        raise InvalidInput(problem) from error
    return parse_login_file(data, str(file))
