"""Two versions of an app, compared: as pod templates with their ConfigMaps and Secrets. Never live objects, to which a
server adds defaults; the values of Secrets are never shown.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from gitops_bg.agent.operate.commits import CommandContext
from gitops_bg.agent.operate.restore_version import side_of, version_in
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import ObjectNotFound
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.version import AppKey, Snapshot, Version
from gitops_bg.core.world import World
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.manifests.differences import Difference, differences
from gitops_bg.views.differences import ComparedSide, configuration_differences, without_secrets_of


@dataclass(frozen=True, slots=True)
class ComparedVersion:
    """One of the two: its template, and what it refers to. Empty: nothing serves."""

    template: Mapping[str, Any] = field(default_factory=dict)
    side: ComparedSide = ComparedSide()


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two versions of an app differ."""

    app: AppKey
    before: Version
    after: Version
    found: tuple[Difference, ...]

    def json(self) -> dict[str, Any]:
        """Return it for programs, in the shape of `diff`."""
        rows = [{"path": each.path, "before": each.before, "after": each.after} for each in self.found]
        named = {"app": str(self.app), "before": self.before.name, "after": self.after.name}
        return {**named, "equal": not self.found, "differences": rows}


def compared_version(context: CommandContext, facts: Facts, snapshot: Snapshot, commit: str) -> ComparedVersion:
    """Return one side; ``commit`` is the one that brought it, if that is known."""
    return ComparedVersion(reread_json(snapshot.text or "{}"), side_of(context, facts, snapshot, commit))


def differences_between(before: ComparedVersion, after: ComparedVersion) -> list[Difference]:
    """Return the differences of the pod templates, ConfigMaps and Secrets."""
    found = [*differences(before.template, after.template), *configuration_differences(before.side, after.side)]
    return without_secrets_of(found, (*before.side.contents, *after.side.contents))


def with_template(repository: Repository, world: World, number: int) -> Version:
    """Return the version of a number with the text of its template. Raises `ObjectNotFound` where nobody has that."""
    app, version = world.spec.app, world.record.numbered(number)
    if version is not None and world.snapshot(version).text:
        return replace(version, snapshot=world.snapshot(version))
    content = repository.find_primary(app, version=number)
    if content is None:
        raise ObjectNotFound(f"{app}: neither the record nor main's history has a template of version {number}")
    return version_in(content, app, repository.places.folder(app))


def compare(context: CommandContext, facts: Facts, before: int, after: int, now: datetime) -> Comparison:
    """Compare two versions by their numbers. Raises `ObjectNotFound` for one that nobody has."""
    world = facts.world(now)
    old, new = (with_template(context.repository, world, number) for number in (before, after))
    sides = [compared_version(context, facts, each.snapshot, each.source.commit) for each in (old, new)]
    return Comparison(facts.app, old, new, tuple(differences_between(*sides)))
