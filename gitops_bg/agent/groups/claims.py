"""The services of a group that are the apps of another folder: the one that has an app keeps it. Pure."""

from dataclasses import replace

from gitops_bg.agent.desired.reading import Reading
from gitops_bg.core.groups.inputs import DesiredGroup, DesiredVersion
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.groups.layout import group_folder


def without_claimed(desired: DesiredGroup, reading: Reading, group: GroupKey) -> DesiredGroup:
    """Return the group without the services whose app lies in another folder, with a problem for each: they are not its
    own, and no route of it may lead there; also where its files cannot be read. An app that two folders claim is
    nobody else's.
    """
    problems: list[Problem] = []
    versions: dict[str, DesiredVersion] = {}
    for name, version in desired.versions.items():
        own = {}
        for service, one in version.services.items():
            folder, app = f"{group_folder(group)}/{name}/{service}", AppKey(group.namespace, member_name(service, name))
            entry = reading.entries.get(app) if one.pods else None
            if entry is None or entry.config.folder in ("", folder):
                own[service] = one
                continue
            message = f"is the app {app}, which {entry.config.folder} has already"
            problems.append(Problem(folder, message, remedy="give the service, or its version, another name"))
        versions[name] = replace(version, services=own)
    return replace(desired, versions=versions, problems=(*desired.problems, *problems)) if problems else desired
