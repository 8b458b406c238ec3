"""The settings of the repository, our refs in it, and which folders can be apps: what Git adds to ``spec.app.layout``.
Plain data; nothing is checked against the world here.
"""

import re
from pathlib import Path

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import (
    ENTRY_PREFIX,
    ENVIRONMENT_PROMOTION_PREFIX,
    GROUP_PROMOTION_PREFIX,
    PROMOTION_PREFIX,
)
from gitops_bg.spec.app.layout import app_of_folder, is_dns_label

# A subset of what git-check-ref-format allows: no option, no `..`, no `@{`, no control character can pass.
_BRANCH = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)
MIRROR = "mirror.git"
_CLUSTER = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)


AGENT = ("gitops-bg", "gitops-bg@localhost")
"""The agent, as its commits name it, unless gitops-bg.yaml says another name."""


MAIN = "main"
"""The branch that is deployed unless somebody says another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationSettings:
    """The files of the keys that commits of main must be signed by; they are read again when they change."""

    signers_file: Path | None = None
    """SSH keys, as in the file of allowed signers of ssh-keygen(1)."""
    gpg_keys_file: Path | None = None
    """Armored OpenPGP public keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySettings:
    """One remote and how to reach it. Credentials are files, read when needed, so that they can be rotated.

    Raises ``InvalidInput`` for a branch or cluster name that cannot be part of a ref. ``transport.transport_for``
    checks the URL.
    """

    url: str
    cluster: str
    directory: Path
    """The directory of the mirror; only this process works in it."""
    names_cluster: bool = True
    """Whether changes of main name the cluster: not where nobody knows it, and ``cluster`` is a stand-in."""
    environment: str = ""
    """The environment that is meant; empty: that of the cluster."""
    branch: str = MAIN
    author: tuple[str, str] | None = None
    """The name and mail address of the person whose commits these are; None: they are the agent's, whose name is a
    setting of the repository (``commitAuthor``).
    """
    username: str = "git"
    """The user name for the https token; most forges accept any."""
    token_file: Path | None = None
    ca_file: Path | None = None
    """Certificates to trust for https, instead of the system's."""
    ssh_key_file: Path | None = None
    known_hosts_file: Path | None = None
    """Host keys for ssh; without it, the user's own known_hosts. An unknown host is refused either way."""
    ssh_program: str = "ssh"
    signing_key: Path | None = None
    """An SSH private key that signs the agent's commits."""
    verification: VerificationSettings | None = None
    """None: commits count whoever signed them, or nobody."""
    timeout_seconds: float = 30.0
    """The deadline of one question to the remote; a fetch, a push or a local command may take ten times as long."""
    allow_http: bool = False
    """Accept http://, where anybody on the network path can read and change what is deployed."""

    git_memory: int | None = None
    """Bytes of memory that each process of git may have; by default half of the container's (`git.runner`)."""

    def __post_init__(self) -> None:
        _demand("branch", self.branch, _BRANCH)
        _demand("cluster", self.cluster, _CLUSTER)

    @property
    def mirror(self) -> Path:
        """The bare repository in the directory."""
        return self.directory / MIRROR

    @property
    def named_cluster(self) -> str:
        """The cluster that changes of main name; empty where nobody knows it."""
        return self.cluster if self.names_cluster else ""

    @property
    def state_branch(self) -> str:
        """The branch of the ledger (DESIGN §3.2)."""
        return f"{STATE_PREFIX}{self.cluster}"


def _demand(name: str, value: str, form: re.Pattern[str]) -> None:
    sound = form.fullmatch(value) and ".." not in value and not re.search(r"\.lock(/|\Z)|\.(/|\Z)", value)
    if not sound:
        remedy = "use letters, digits, dots, dashes and underscores"
        raise InvalidInput(Problem(f"--{name}", f"{value!r} cannot be the name of a {name}", remedy=remedy))


STATE_PREFIX = "gitops-bg/state/"
TRACKING_PREFIX = "refs/mirror/heads/"
"""The refs of fetched branches in the mirror; never a branch of its own."""
SEEN_REF = "refs/gitops-bg/seen"


def is_app(namespace: str, name: str) -> bool:
    """Return whether the two can name an app: they are names of Kubernetes objects, and so also parts of a Git ref."""
    return is_dns_label(namespace) and is_dns_label(name)


def app_at(folder: str) -> AppKey | None:
    """Return the app whose folder this is; None for any other folder, and for one whose name no app can have.

    >>> app_at("apps/shop/web"), app_at("apps/shop/Web"), app_at("groups/shop/store/v1/cart")
    (AppKey(namespace='shop', name='web'), None, AppKey(namespace='shop', name='cart-v1'))
    """
    app = app_of_folder(folder)
    return app if app and is_app(app.namespace, app.name) else None


def app_of_branch(branch: str) -> AppKey | None:
    """Return the app whose promotion branch this is, or None.

    >>> app_of_branch("gitops-bg/promote/shop/cart-v1")
    AppKey(namespace='shop', name='cart-v1')
    """
    return _app_named(branch, PROMOTION_PREFIX)


def entry_of_branch(branch: str) -> tuple[str, AppKey] | None:
    """Return the environment and the app of a branch that asks for a release, or None.

    >>> entry_of_branch("gitops-bg/enter/prod/shop/web"), entry_of_branch("gitops-bg/enter/shop/web")
    (('prod', AppKey(namespace='shop', name='web')), None)
    """
    environment, slash, rest = branch.removeprefix(ENTRY_PREFIX).partition("/")
    if not (branch.startswith(ENTRY_PREFIX) and slash and is_dns_label(environment)):
        return None
    app = _app_named(rest, "")
    return (environment, app) if app else None


def app_of_environment_branch(branch: str) -> tuple[str, AppKey] | None:
    """Return the environment and the app whose promotion branch this is, or None.

    >>> app_of_environment_branch("gitops-bg/promote-in/prod/shop/web")
    ('prod', AppKey(namespace='shop', name='web'))
    >>> app_of_environment_branch("gitops-bg/promote/shop/web")
    """
    environment, slash, app = branch.removeprefix(ENVIRONMENT_PROMOTION_PREFIX).partition("/")
    found = _app_named(app, "") if slash and branch.startswith(ENVIRONMENT_PROMOTION_PREFIX) else None
    return (environment, found) if found is not None else None


def group_of_branch(branch: str) -> GroupKey | None:
    """Return the group whose branch this is, or None.

    >>> group_of_branch("gitops-bg/promote-groups/shop/store"), group_of_branch("gitops-bg/promote/shop/store")
    (GroupKey(namespace='shop', name='store'), None)
    """
    found = _app_named(branch, GROUP_PROMOTION_PREFIX)
    return GroupKey(found.namespace, found.name) if found else None


def _app_named(branch: str, prefix: str) -> AppKey | None:
    namespace, slash, name = branch.removeprefix(prefix).partition("/")
    return AppKey(namespace, name) if branch.startswith(prefix) and slash and is_app(namespace, name) else None


def is_commit_id(text: str) -> bool:
    """Return whether the text is a full object id, SHA-1 or SHA-256."""
    return bool(re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text))
