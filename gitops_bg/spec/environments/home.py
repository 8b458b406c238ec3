"""Where an app is at home in one environment: what its files say there, which of them are out of place, and what it
shares with other environments. Reads no file.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import Environment, Environments
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import API_VERSION, KIND
from gitops_bg.spec.app.layout import RELEASE_FILE, STRAY, path_in
from gitops_bg.spec.environments.release import configuration_in, read_release
from gitops_bg.spec.manifests.configuration import Named, is_tracked, references
from gitops_bg.spec.manifests.merge import json_merged
from gitops_bg.spec.manifests.target import pod_paths, template_of, value_at
from gitops_bg.spec.yaml.layered import below, layered
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import nearest


@dataclass(frozen=True, slots=True)
class Home:
    """One environment of an app."""

    environment: Environment
    environments: Environments
    folders: frozenset[str] = field(default_factory=frozenset)
    """The names of all folders in that of the app."""

    @property
    def name(self) -> str:
        """The name of the environment."""
        return self.environment.name

    @property
    def is_first(self) -> bool:
        """Whether it is the app's first environment, whose release is the target."""
        return self.environments.is_first(self.name, self.folders)


def check_home(home: Home, app: AppKey, folder: str, files: Collection[str]) -> Iterator[Problem]:
    """Yield the folders in an app's that are no environment, and the files that are not where they belong: a typing
    error would silently be an environment, or a file that nobody reads.
    """
    yield from _strange_folders(home, folder)
    passed = home.environments.passed(home.folders)
    first = passed[0].name if passed else home.name
    for name in (each for each in files if each.startswith(STRAY)):
        path = f"{folder}/{path_in(home.name, name)}"
        remedy = f"`git mv {path} {folder}/{first}/`, or to the environment that it is of"
        yield Problem(path, "is in no environment's folder, and the repository has environments", remedy=remedy)
    if home.is_first and RELEASE_FILE in files:
        message = f"{home.name} is the first environment of {app}: its release is the target"
        remedy = (
            f"was the folder of an environment before {home.name} lost? Bring it back first: once the file is removed, "
        )
        remedy += f"what is pushed to the target goes live in {home.name}, and nothing proves it before"
        yield Problem(f"{folder}/{path_in(home.name, RELEASE_FILE)}", message, remedy=remedy)


def _strange_folders(home: Home, folder: str) -> Iterator[Problem]:
    names = home.environments.names
    for name in sorted(home.folders - set(names)):
        guess = nearest(name, names)
        remedy = f"did you mean {guess}?" if guess else f"there are {', '.join(names)}"
        moved = f"; if {name} was renamed or removed, `git mv` what is in it to the environment that follows it"
        yield Problem(f"{folder}/{name}", "is the folder of no environment", remedy=f"{remedy}{moved}")


def is_misplaced(home: Home, name: str) -> bool:
    """Return whether a file is one of those that `check_home` reports, so that nobody reads it."""
    return name.startswith(STRAY) or (home.is_first and name == RELEASE_FILE)


def implied_own(app: AppKey) -> bytes:
    """Return an app.yaml of an environment that says nothing of its own."""
    metadata = f"metadata:\n  name: {app.name}\n  namespace: {app.namespace}\n"
    return f"apiVersion: {API_VERSION}\nkind: {KIND}\n{metadata}spec: {{}}\n".encode()


def app_with_own(app: Document, own: Document) -> Document:
    """Return an app.yaml with the fields that the environment's own one has."""
    return layered(app, own, json_merged(app.value, own.value))


def workload_of_release(document: Document, app: AppKey) -> tuple[Document | None, tuple[Problem, ...]]:
    """Return the workload of a ``release.yaml``; None and the problems where it is invalid."""
    release, problems = read_release(document, app)
    return (below(document, ("target",)) if release is not None else None), problems


def as_released(
    shared: Mapping[Named, Document],
    own: Collection[Named],
    base: Document,
    target: Document,
    today: Any,
    app: AppKey,
) -> tuple[dict[Named, Document], tuple[Problem, ...]]:
    """Return the shared manifests with the configuration of the release in ``base`` in place of that which ``today``,
    the pod template of the target of now, refers to: only releases bring it to a later environment.
    """
    released = configuration_in(base, app)
    left_out = {
        named for named, each in shared.items() if today is not None and is_tracked(each.value, references(today))
    }
    lacking = (references(template_of(target.value)) & left_out) - set(own) - released.keys()
    problems = []
    for kind, name in sorted(lacking):
        message = f"refers to {kind} {name}, which this release does not have, and only releases bring it here"
        remedy = f"copy it to {base.folder}/, or wait for a release that has it"
        problems.append(target.problem(pod_paths(target.value).template, message, remedy))
    return {named: each for named, each in shared.items() if named not in left_out} | released, tuple(problems)


def with_auto_promotion(app: Document, environment: Environment) -> Document:
    """Return an app.yaml with what ``environments.yaml`` says of promotions in an environment in place of its own."""
    wanted, place = environment.auto_promotion_enabled, ("spec", "strategy", "blueGreen")
    value = value_at(app.value, place)
    if wanted is None or not isinstance(value, dict):
        return app
    spec, strategy = app.value["spec"], app.value["spec"]["strategy"]
    strategy = {**strategy, "blueGreen": {**value, "autoPromotionEnabled": wanted}}
    return replace(app, value={**app.value, "spec": {**spec, "strategy": strategy}})
