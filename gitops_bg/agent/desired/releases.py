"""The content of a release that comes into an environment: byte for byte what an environment before it has, or, behind
the first one, what its base was in the commit that brought it (decision 113). Only reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from gitops_bg.core.environments.model import Environments
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.actions import EnterRelease
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey, ReleaseId, Source
from gitops_bg.core.names import entry_branch
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import entry_of_branch
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import Entry, PrimaryChange
from gitops_bg.spec.app.layout import APP_FILE, OF_ENVIRONMENT, RELEASE_FILE
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.environments.home import Home
from gitops_bg.spec.environments.release import Release, read_release, release_document
from gitops_bg.spec.manifests.edit import held_releases
from gitops_bg.spec.yaml.reader import read_one

_REMEMBERED = 256
_MOST_BEFORE = 50
"""How many former contents of a ``release.yaml`` are looked through."""


def release_path(repository: Repository, app: AppKey, environment: str) -> str:
    """Return where the release of an app in an environment is."""
    return f"{repository.places.folder(app)}/{environment}/{RELEASE_FILE}"


def held_in_main(repository: Repository, app: AppKey, environment: str) -> Mapping[str, str] | str:
    """Return the releases that main holds back of an app in an environment, by their digests, with why; or why nobody
    can tell. A file of the environment takes the place of what all environments share.
    """
    held, shared = dict[str, str](), repository.places.folder(app)
    for folder in (shared, f"{shared}/{environment}"):
        path = f"{folder}/{APP_FILE}"
        content = repository.text_file(path)
        if isinstance(content, Problem):
            return str(content)
        try:
            held |= held_releases(content, path) if content is not None else {}
        except InvalidInput as error:
            return str(error)
    return held


def release_change(
    repository: Repository,
    app: AppKey,
    action: EnterRelease,
    decided_from: str,
    environments: Environments | None = None,
) -> PrimaryChange[AppKey]:
    """Return what to write. ``environments`` are those of main, where this mirror is of none. Raises `InvalidInput`
    where the content is nowhere to be found.
    """
    known = environments or repository.environment.environments
    movement = Movement(
        subject=app,
        event=Event.ENTERED,
        source_commit=action.commit,
        by=action.by,
        reason=action.reason,
        release=action.release,
        environment=action.environment,
        skipped=action.skipped,
    )
    entry = Entry(release_path(repository, app, action.environment), entry_branch(action.environment, app))
    return PrimaryChange(content_of(repository, app, action, known), decided_from, movement, entry=entry)


def content_of(repository: Repository, app: AppKey, action: EnterRelease, environments: Environments) -> bytes:
    """Return the bytes of ``release.yaml``. Raises `InvalidInput` where nobody has them any more."""
    for content in _written(repository, app, action.former):
        found = release_in(content, app)
        if found is not None and _is(found, action):
            return content
    path = release_path(repository, app, action.environment)
    base = next((each for each in _bases(repository, app, action.commit, environments) if _is(each, action)), None)
    if base is None:
        said = f"what {action.release.name} was is nowhere to be found: not in {' or '.join(action.former)}, and the "
        said += f"app's base at commit {action.commit[:10]} is another one"
        raise InvalidInput(Problem(path, said, remedy="push a new commit to the app's target, which is a new release"))
    snapshot = replace(base.snapshot, id=action.release)
    return release_document(app, replace(base, snapshot=snapshot), path).encode()


def is_released(repository: Repository, app: AppKey, release: Release, environments: Environments) -> bool:
    """Return whether main has, or had, a release: in an environment, or as the app's base at the commit that it names.
    Whoever may push a branch can write anything into it.
    """
    digest, commit = release.id.digest, release.id.commit
    written = (release_in(content, app) for content in _written(repository, app, environments.names))
    if any((each.id.digest, each.id.commit) == (digest, commit) for each in written if each is not None):
        return True
    return any(each.id.digest == digest for each in _bases(repository, app, commit, environments))


def _is(release: Release, action: EnterRelease) -> bool:
    return (release.id.digest, release.id.commit) == (action.release.digest, action.commit)


def _written(repository: Repository, app: AppKey, former: tuple[str, ...]) -> Iterator[bytes]:
    """Yield what the environments before have, and had, newest first."""
    for environment in former:
        said = repository.changes_of_file(release_path(repository, app, environment), most=_MOST_BEFORE)
        yield from (each.content for each in said if each.content is not None)


def release_in(content: bytes, app: AppKey) -> Release | None:
    """Return the release in a ``release.yaml``; None where it is invalid."""
    document, _ = read_one(RELEASE_FILE, content)
    return read_release(document, app)[0] if document is not None else None


def offered_releases(repository: Repository) -> dict[tuple[str, AppKey], ReleaseId]:
    """Return the releases that branches ask for, by environment and app, as they were fetched last; without those that
    cannot be read.
    """
    found = dict[tuple[str, AppKey], ReleaseId]()
    for branch, commit in repository.mirror.tracked().items():
        entry = entry_of_branch(branch)
        content = repository.text_file(release_path(repository, entry[1], entry[0]), commit) if entry else None
        release = _release_id(content, entry[1]) if entry and isinstance(content, bytes) else None
        if entry is not None and release is not None:
            found[entry] = release
    return found


@lru_cache(maxsize=_REMEMBERED)
def _release_id(content: bytes, app: AppKey) -> ReleaseId | None:
    release = release_in(content, app)
    return release.id if release is not None else None


def _bases(repository: Repository, app: AppKey, commit: str, environments: Environments) -> Iterator[Release]:
    """Yield what the base was in the commit that brought it, and where that came into main."""
    if not repository.contains(commit):
        return
    made_by = repository.source_of(commit)
    for at in filter(None, dict.fromkeys((commit, repository.landing_of(commit)))):
        found = base_at(repository, app, at, made_by, environments)
        if found is not None:
            yield found


def base_at(
    repository: Repository, app: AppKey, commit: str, made_by: Source, environments: Environments
) -> Release | None:
    """Return the release that an app's base was at a commit, as ``made_by`` brought it; None where it was none."""
    folders = repository.inner_folders(commit).get(app, frozenset())
    if not environments.passed(folders):  # a base of the time before the app had environments
        folders = repository.inner_folders().get(app, frozenset())
    first = next(iter(environments.passed(folders)), None)
    if first is None:
        return None
    files = {name: file.content for name, file in repository.files_of([app], commit)[app].items()}
    shared = {name: content for name, content in files.items() if "/" not in name and name not in OF_ENVIRONMENT}
    home, folder = Home(first, environments, folders), repository.places.folder(app)
    return load_app(app, shared, lambda *_: made_by, folder=folder, home=home).release
