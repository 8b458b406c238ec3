"""What `gitops-bg check` asks of a repository with environments: every environment is built from the files that count
in it, and what people should know of the way that an app's releases take.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Protocol

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import Enter, Environment, Environments
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import AppSpec, PromoteVia
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import (
    APPS_FOLDER,
    ENVIRONMENTS_FILE,
    app_of,
    app_of_folder,
    in_environment,
    is_read,
    only_seen_in,
)
from gitops_bg.spec.environments.home import Home
from gitops_bg.spec.yaml.reader import read_one

File = bytes | Problem


@dataclass(frozen=True, slots=True)
class EnvironmentView:
    """The folders of apps as one environment has them."""

    apps: Mapping[str, Mapping[str, File]]
    """The files of each, by the names under which an app is read."""
    homes: Mapping[str, Home] = field(default_factory=dict)
    """The environment of each that has one."""


def views_of(contents: Mapping[str, File], environments: Environments | None) -> list[EnvironmentView]:
    """Return what each environment has; one view without environments. Where nobody can tell which there are, apps are
    not looked at: the mistake is in ``environments.yaml``.
    """
    flat = _flat(contents)
    members = {folder: files for folder, files in flat.items() if not folder.startswith(f"{APPS_FOLDER}/")}
    if environments is None:
        return [EnvironmentView(members)]
    if not environments:
        return [EnvironmentView(flat)]
    deep, inner = _deep(contents, flat), folders_in(contents)
    return [EnvironmentView(members), *(_view(each, environments, deep, inner) for each in environments)]


def _view(
    environment: Environment,
    environments: Environments,
    deep: Mapping[str, Mapping[str, File]],
    inner: Mapping[str, frozenset[str]],
) -> EnvironmentView:
    there = {folder for folder, names in inner.items() if environment.name in names}
    return EnvironmentView(
        {folder: only_seen_in(environment.name, deep[folder]) for folder in there},
        {folder: Home(environment, environments, inner[folder]) for folder in there},
    )


def _flat(contents: Mapping[str, File]) -> dict[str, dict[str, File]]:
    """Return the files of each app's folder by their names in it; as the agent reads it, no link to another folder."""
    apps: dict[str, dict[str, File]] = {}
    for path, content in contents.items():
        folder, _, name = path.rpartition("/")
        if app_of(path) is not None and (is_read(name) or isinstance(content, bytes)):
            apps.setdefault(folder, {})[name] = content
    return apps


def _deep(contents: Mapping[str, File], flat: Mapping[str, Mapping[str, File]]) -> dict[str, dict[str, File]]:
    """Return the same of apps, with the files in their inner folders by their paths in it."""
    apps = {folder: dict(files) for folder, files in flat.items()}
    for path, content in contents.items():
        if (found := in_environment(path)) and (is_read(found[2]) or isinstance(content, bytes)):
            apps.setdefault(found[0], {})[f"{found[1]}/{found[2]}"] = content
    return apps


def folders_in(contents: Mapping[str, File]) -> dict[str, frozenset[str]]:
    """Return the names of the folders in each app's."""
    inner: dict[str, set[str]] = {}
    for path in contents:
        if found := in_environment(path):
            inner.setdefault(found[0], set()).add(found[1])
    return {folder: frozenset(names) for folder, names in inner.items()}


def check_apps_in_environments(contents: Mapping[str, File], environments: Environments | None) -> Iterator[Problem]:
    """Yield the apps that are in no environment: nothing of them is live anywhere."""
    if not environments:
        return
    inner = folders_in(contents)
    for folder in sorted(each for each in _flat(contents) if each.startswith(f"{APPS_FOLDER}/")):
        names = inner.get(folder, frozenset())
        if not environments.passed(names):
            first = environments.names[0]
            remedy = f"give it a folder for each of its environments, with an overlay.yaml: {folder}/{first}/"
            what = f"; {', '.join(sorted(names))} is none" if names else ""
            yield Problem(folder, f"is in no environment of the repository{what}", remedy=remedy)


class AppInEnvironment(Protocol):
    """An app as an environment has it: `spec.app.load.AppConfig`."""

    @property
    def app(self) -> AppKey:
        """The app."""

    @property
    def environment(self) -> str:
        """The environment; empty for none."""

    @property
    def spec(self) -> AppSpec | None:
        """How it is to run; None where nobody can tell."""


def notes_of_environments(
    configs: Iterable[AppInEnvironment], contents: Mapping[str, File], environments: Environments | None
) -> Iterator[Problem]:
    """Yield what people should know of the way that releases take, though nothing of it is wrong."""
    if not environments:
        return
    content = contents.get(ENVIRONMENTS_FILE)
    document = read_one(ENVIRONMENTS_FILE, content)[0] if isinstance(content, bytes) else None
    inner = folders_in(contents)
    yield from _notes_of_ways(inner, environments)
    for place, environment in enumerate(environments):
        twice = sorted(each.app.name for each in configs if _asks_twice(each, environment))
        if twice and document is not None:
            said = f"{', '.join(twice[:3])}{' and others' if len(twice) > 3 else ''}"
            message = f"releases enter {environment.name} by a pull request, and {said} goes live by another one"
            remedy = "where one is enough, write enter: auto, or autoPromotionEnabled: true"
            yield document.problem(("environments", place, "enter"), message, remedy)


def _asks_twice(config: AppInEnvironment, environment: Environment) -> bool:
    is_here = config.environment == environment.name and environment.enter is Enter.PULL_REQUEST
    return is_here and config.spec is not None and config.spec.promote_via is PromoteVia.PULL_REQUEST


def _notes_of_ways(inner: Mapping[str, frozenset[str]], environments: Environments) -> Iterator[Problem]:
    for folder, names in sorted(inner.items()):
        passed = environments.passed(names)
        if app_of_folder(folder) is None or not passed:
            continue
        if passed[0].name != environments.names[0]:
            message = f"{passed[0].name} is its first environment: what is pushed to its target comes there unproven"
            remedy = f"give it a folder {environments.names[0]}/ to have it proven there before; a policy with "
            remedy += f"after: {{from: [{environments.names[0]}]}} requires that"
            yield Problem(folder, message, remedy=remedy)
        for each in passed:
            for name in environments.lacking(each.name, names):
                message = f"takes releases that {name} has proven, and the app is not in {name}: none ever comes"
                remedy = f"give the app a folder {name}/, or leave {name} out of after.from of {each.name}"
                yield Problem(f"{folder}/{each.name}", message, remedy=remedy)
