"""Where a verb is at work: repository, branch and ledger. What is live says it (docs/decisions/0048); options and
`.gitops-bg.yaml` say it where nothing live does: an option or its variable before the user's file, that before the one
in the clone, each by kube context.

A live object names its repository without protocol and credentials, and whoever may write to it could name another one:
a token and a signature go to no address but one that the user has named. Asks no remote.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import ClusterOptions, GitOptions
from gitops_bg.cli.options.values import app_name
from gitops_bg.cli.repository.user_git import asked, repository_url
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden, NoAccess, NotFound
from gitops_bg.cluster.api.kinds import APPS, RELEASE_GROUPS, Kind, Object
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership
from gitops_bg.cluster.observation.states import decided_from
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.repo.git.transport import repository_name
from gitops_bg.spec.client_settings import CLIENT_SETTINGS_FILE, read_client_settings

_OPTIONS = {"cluster": ("--cluster", "GITOPS_BG_CLUSTER"), "branch": ("--branch", "GITOPS_BG_BRANCH")}


@dataclass(frozen=True, slots=True)
class About:
    """What a verb is about: live objects of a kind by the names that somebody typed; none: all of a namespace, or of
    the cluster (empty).
    """

    names: tuple[str, ...] = ()
    kind: Kind = APPS
    namespace: str = ""
    if_branch: bool = False
    """Whether a branch that is named is a question, what if it were main, and contradicts nothing."""
    follows: Ownership = UNOWNED
    """What they follow, where that is known already."""


ALL = About()


def apps_named(*names: str) -> About:
    """Return what a verb about these apps is about; without any name: about all of them."""
    return About(names)


def group_named(name: str) -> About:
    """Return what a verb about a release group is about."""
    return About((name,), RELEASE_GROUPS)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a verb is at work, as far as anybody says it."""

    git: GitOptions
    follows: Ownership = UNOWNED
    """What the live objects follow; nobody's where none says it."""
    witness: str = ""
    """A commit that main of this place must have: its repository goes by another name here, as behind a proxy, and is
    known by its content. Empty: by its name.
    """
    otherwise: str = ""
    """What is wrong where it does not have that commit; empty: the next location may be it."""
    unasked: GitopsBgError | None = None
    """Why nothing live could be asked, so that options and files alone say where this is."""


@dataclass(frozen=True, slots=True)
class _Follower:
    name: str
    follows: Ownership
    commit: str
    """The commit of main that it was decided from; empty where it does not say."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.follows.repository, self.follows.cluster, self.follows.branch


def locations(git: GitOptions, settings: GitOptions, client: Callable[[], Client], about: About) -> Sequence[Location]:
    """Return where to look, in order: it is the first that has its witness.

    ``git`` is what the user says now, ``settings`` the same with what a file says besides. Raises `UsageError` where
    options contradict what is live, or several places are possible.
    """
    try:
        named, others = _followers(client, about)
    except NotFound:  # no kind of ours, so no app either
        named, others = [], []
    except GitopsBgError as error:
        return [Location(settings, unasked=error)]
    if named and about.if_branch and git.branch:
        found = _of_named(replace(git, branch=""), settings, named)
        return [replace(found, git=replace(found.git, branch=git.branch))]
    if named:
        return [_of_named(git, settings, named)]
    return _of_all(git, settings, others, ask=not about.names)


def _followers(client: Callable[[], Client], about: About) -> tuple[list[_Follower], list[_Follower]]:
    """Return the live objects that were named, and, where none was or none is live, those beside them.

    Raises the errors of the cluster.
    """
    named = [each for name in about.names for each in _called(client(), about, name)]
    if named or not about.names:
        return _saying(named), ([] if named else _saying(client().list(about.kind, about.namespace)))
    spaces = {app_name(name)[0] or about.namespace for name in about.names}
    near = [each for space in sorted(spaces) for each in client().list(about.kind, space)]
    return [], _saying(near or _everywhere(client(), about.kind))


def _everywhere(client: Client, kind: Kind) -> list[Object]:
    """Return all live objects of a kind; none for who may see only some namespaces, which they have named."""
    try:
        return client.list(kind, "")
    except Forbidden:
        return []


def _called(client: Client, about: About, typed: str) -> list[Object]:
    namespace, name = app_name(typed)
    namespace = namespace or about.namespace
    if namespace:
        found = client.get(about.kind, namespace, name)
        return [found] if found is not None else []
    return [each for each in client.list(about.kind, "") if each["metadata"]["name"] == name]


def _saying(bodies: Iterable[Object]) -> list[_Follower]:
    made = (_Follower(_name(each), Ownership.of(_annotations(each)), _commit(each)) for each in bodies)
    return [each for each in made if each.follows.repository]


def _name(body: Object) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def _annotations(body: Object) -> Mapping[str, str]:
    return body["metadata"].get("annotations") or {}


def _commit(body: Object) -> str:
    status = body.get("status") or {}
    return decided_from(status) or str(status.get("commit") or "")


def _of_named(git: GitOptions, settings: GitOptions, named: Sequence[_Follower]) -> Location:
    first = named[0]
    for other in named:
        if other.place != first.place:
            raise UsageError(
                f"{first.name} follows {described(first.follows)}, and {other.name} {described(other.follows)}: name "
                "one in full, and the other in a command of its own"
            )
    for field, (option, variable) in _OPTIONS.items():
        given, said = getattr(git, field), getattr(first.follows, field)
        if given and said and given != said:
            raise UsageError(
                f"{option} {given} (or {variable}): {first.name} of this Kubernetes cluster follows "
                f"{described(first.follows)}; leave it out, or name another Kubernetes cluster by --context"
            )
    return _at(git, settings, first, demanded=True)


def _of_all(git: GitOptions, settings: GitOptions, followers: Sequence[_Follower], *, ask: bool) -> Sequence[Location]:
    """Return where the apps of a cluster come from; ``ask``: several places are for the user to choose from."""
    fallback, own = Location(settings), _own_name(settings)
    possible = {each.place: each for each in followers if _agrees(each, git)}
    if not possible and git.branch:
        found = _of_all(replace(git, branch=""), replace(settings, branch=""), followers, ask=False)
        return [replace(each, git=replace(each.git, branch=git.branch)) for each in found]
    by_name = {place: each for place, each in possible.items() if own in ("", place[0])}
    chosen = list(by_name.values())
    if len(chosen) > 1:
        chosen = [each for each in chosen if _agrees(each, settings)] or chosen
    if len(chosen) > 1 and not ask:
        return [fallback]
    if len(chosen) > 1:
        several = "; ".join(sorted(described(each.follows) for each in chosen))
        raise UsageError(f"the apps here follow {several}: say which by --repo, --cluster or --branch, or by -n")
    if chosen:
        return [_at(git, settings, chosen[0], demanded=False)]
    strangers = [_at(git, settings, each, demanded=False) for each in possible.values() if each.commit]
    return [*strangers, fallback]


def _agrees(follower: _Follower, git: GitOptions) -> bool:
    """Return whether an object follows the cluster and the branch that are given."""
    return all(getattr(git, each) in ("", getattr(follower.follows, each)) for each in _OPTIONS)


def _at(git: GitOptions, settings: GitOptions, follower: _Follower, *, demanded: bool) -> Location:
    """Return the location that a live object names."""
    follows, own = follower.follows, _own_name(settings)
    there = replace(settings, cluster=follows.cluster or settings.cluster, branch=follows.branch or settings.branch)
    if own == follows.repository:
        return Location(there, follows)
    if own:
        why = (
            f"{follower.name} follows {described(follows)}, and {own} is another repository: its branch lacks "
            f"{follower.commit[:10] or 'what it was decided from'}; leave --repo (or GITOPS_BG_REPO) out, and call "
            "it in a clone of that repository, or outside of any"
        )
        return Location(there, follows, follower.commit or "?", why if demanded else "")
    url = _url(follows.repository, by_ssh=settings.ssh_key_file is not None)
    for what, file in (("token", git.git_token_file), ("signature", git.signing_key)):
        if file is not None:
            raise UsageError(f"{follower.name} follows {url}; your {what} goes only where you say: --repo {url}")
    return Location(replace(there, repo=url), follows)


def demand_named(location: Location, about: About) -> None:
    """Refuse a place for a commit that is only assumed, where a cluster that could not be asked may say another one.

    Where there is no cluster to ask, as in CI, it is assumed. Raises `UsageError`.
    """
    if location.unasked is None or location.git.branch or isinstance(location.unasked, NoAccess):
        return
    raise UsageError(
        f"--branch: which branch {_asked_about(about)} follows could not be asked: {location.unasked}; nothing is "
        "written on a branch that is only assumed: name it by --branch or in .gitops-bg.yaml, or name the cluster by "
        "--context"
    )


def assumed(location: Location, about: About, branch: str, cluster: str) -> str:
    """Say what is assumed of a place because nothing live could be asked; empty where nothing is."""
    said = {"branch": (location.git.branch, branch), "cluster": (location.git.cluster, cluster)}
    guessed = " and ".join(f"{what} {value}" for what, (given, value) in said.items() if not given)
    if location.unasked is None or not guessed:
        return ""
    return (
        f"what {_asked_about(about)} follows could not be asked: {location.unasked}; {guessed} assumed, as neither "
        "options nor .gitops-bg.yaml say it"
    )


def _asked_about(about: About) -> str:
    return ", ".join(about.names) or "the agent"


def described(follows: Ownership) -> str:
    """Return what a live object follows, in words."""
    branch = f"branch {follows.branch} of " if follows.branch else ""
    return f"{branch}{follows.repository} (cluster {follows.cluster})"


def _own_name(git: GitOptions) -> str:
    """Return the name of the repository that the user names, or whose clone they are in; empty where there is none."""
    try:
        return repository_name(repository_url(git.repo))
    except UsageError:
        return ""


def _url(name: str, *, by_ssh: bool) -> str:
    """Return a URL for a repository's name.

    >>> _url("git.example.com/shop/config", by_ssh=False), _url("git.example.com/shop/config", by_ssh=True)
    ('https://git.example.com/shop/config.git', 'ssh://git@git.example.com/shop/config.git')
    >>> _url("/srv/config", by_ssh=False)
    '/srv/config.git'
    """
    if name.startswith("/"):
        return f"{name}.git"
    return f"ssh://git@{name}.git" if by_ssh else f"https://{name}.git"


def user_file() -> Path:
    """Return where the file of a person is."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "gitops-bg" / CLIENT_SETTINGS_FILE


def with_file_defaults(git: GitOptions, kube: ClusterOptions | None) -> GitOptions:
    """Return the options, with what files say where no option does. Raises `InvalidInput` for a broken file."""
    top = asked("rev-parse", "--show-toplevel")
    files = [(user_file(), False), *([(Path(top) / CLIENT_SETTINGS_FILE, True)] if top else [])]
    present = [(file, of_repository) for file, of_repository in files if file.is_file()]
    if not present:
        return git
    context, said = _context(kube), dict[str, str]()
    for file, of_repository in present:
        settings, problems = read_client_settings(file.read_bytes(), str(file), of_repository=of_repository)
        if settings is None:
            raise InvalidInput(*problems)
        said = settings.settings_in(context) | said
    return _filled(git, said)


def _context(kube: ClusterOptions | None) -> str:
    from gitops_bg.cluster.api.access import context_name  # only where there is a file

    options = kube or ClusterOptions()
    return context_name(Access(kubeconfig=options.kubeconfig, context=options.context))


def _filled(git: GitOptions, said: dict[str, str]) -> GitOptions:
    default, filled = GitOptions(), dict[str, str | Path]()
    for field in fields(GitOptions):
        text = said.get(field.name)
        if text and getattr(git, field.name) == getattr(default, field.name):
            filled[field.name] = text if isinstance(getattr(default, field.name), str) else Path(text).expanduser()
    return replace(git, **filled)  # type: ignore[arg-type]
