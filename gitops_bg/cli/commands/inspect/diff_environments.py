"""`diff APP --from staging --to prod`: what two environments of a repository have of one app, by main alone. Writes
nothing, and asks no cluster.

What an environment serves is its primary.yaml; where nothing was promoted there yet, what it would run is compared.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.cli.session.session import Session
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import Environments
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import reread_json, tag_of
from gitops_bg.core.model.version import AppKey, Snapshot, Source, version_name
from gitops_bg.spec.app.layout import ENVIRONMENTS_FILE, only_seen_in
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.environments.check import folders_in
from gitops_bg.spec.environments.home import Home
from gitops_bg.spec.environments.load import load_environments
from gitops_bg.spec.manifests.differences import Difference, differences
from gitops_bg.views.differences import ComparedSide, configuration_differences, without_secrets_of

if TYPE_CHECKING:
    from gitops_bg.views.shapes.apps import InEnvironmentJson


@dataclass(frozen=True, slots=True)
class InEnvironment:
    """What one environment has of an app."""

    name: str
    config: AppConfig

    @property
    def snapshot(self) -> Snapshot | None:
        """What it serves by main, or would run; None where nobody can tell."""
        document = self.config.primary or self.config.target
        return document.snapshot if document else None

    @property
    def release(self) -> str:
        """The release of that; empty where nobody knows. What was promoted before there were environments is of the
        release that has it now.
        """
        primary, target = self.config.primary, self.config.target
        is_target = primary is None or (target is not None and target.snapshot.digest == primary.snapshot.digest)
        found = (primary.release if primary else None) or (target.release if target and is_target else None)
        return found.name if found else ""

    @property
    def version(self) -> str:
        """The name of the version that it serves by main; empty for none."""
        primary = self.config.primary
        return version_name(primary.version, primary.snapshot.digest, tag_of(primary.snapshot.text)) if primary else ""

    @property
    def described(self) -> str:
        """What it has, in a sentence."""
        of = f" of release {self.release}" if self.release else ""
        if self.version:
            return f"{self.name} serves {self.version}{of}"
        return f"{self.name} would run release {self.release}" if self.snapshot else f"{self.name} has no release yet"

    def json(self) -> "InEnvironmentJson":
        """Return it for programs."""
        found = self.snapshot
        digest = found.digest if found else None
        return {
            "environment": self.name,
            "release": self.release or None,
            "version": self.version or None,
            "digest": digest,
        }


def in_environment(session: Session, app: AppKey, name: str) -> InEnvironment:
    """Return what an environment has of an app. Raises `UsageError` for an environment that there is not,
    `ObjectNotFound` where the app is not in it, `InvalidInput` where a part of it cannot be read.
    """
    repository = session.repository
    environments = _environments(session)
    environment = environments.named(name)
    if environment is None:
        raise UsageError(f"the repository has no environment {name}; there are {', '.join(environments.names)}")
    folder = repository.places.folder(app)
    files = {path: file.content for path, file in repository.files_below(folder).items()}
    inner = folders_in(files).get(folder, frozenset())
    if name not in inner:
        known = ", ".join(each.name for each in environments.passed(inner)) or "none"
        raise ObjectNotFound(f"{app} is not in {name}: it has no {folder}/{name}/ (it is in {known})")
    own = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    home = Home(environment, environments, inner)
    found = load_app(app, only_seen_in(name, own), lambda *_: Source(""), folder=folder, home=home)
    if found.primary is None and found.has_primary:
        raise InvalidInput(*found.problems)
    return InEnvironment(name, found)


def _environments(session: Session) -> Environments:
    file = load_environments(session.repository.text_file(ENVIRONMENTS_FILE))
    if file.environments is None:
        raise InvalidInput(*file.problems)
    if not file.environments:
        raise UsageError(f"the repository has no environments; {ENVIRONMENTS_FILE} names them")
    return file.environments


def environment_differences(before: InEnvironment, after: InEnvironment) -> list[Difference]:
    """Return how they differ: what they serve, its configuration, and the releases that came in."""
    sides = [_side(each) for each in (before, after)]
    texts = [reread_json(each.snapshot.text) if each.snapshot else {} for each in (before, after)]
    found = [*differences(*texts), *configuration_differences(*sides), *_of_releases(before, after)]
    return without_secrets_of(found, (*sides[0].contents, *sides[1].contents))


def _side(each: InEnvironment) -> ComparedSide:
    return ComparedSide(each.snapshot.configuration if each.snapshot else (), each.config.configuration)


def _of_releases(before: InEnvironment, after: InEnvironment) -> Iterator[Difference]:
    """Yield the differences of what came in, before any overlay; nothing where that is the same release."""
    old, new = before.config.release, after.config.release
    if old is None or new is None or old.id.digest == new.id.digest:
        return
    for each in differences(old.target, new.target):
        yield replace(each, path=f"release: {each.path}")
