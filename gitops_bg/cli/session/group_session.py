"""A release group as one run of a verb sees it: in main, and with all that is live of it. Only reads."""

from collections.abc import Iterable
from dataclasses import replace

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.policy_shelf import asks_about_others
from gitops_bg.agent.groups.facts import GroupFacts, GroupGatherer
from gitops_bg.agent.reconcile.facts import Facts, gather
from gitops_bg.agent.reconcile.peer_facts import note_peers
from gitops_bg.cli.errors import CommandFailed, NameNotFound, ObjectNotFound, UsageError
from gitops_bg.cli.options.names import app_name
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.api.errors import NamespaceMissing
from gitops_bg.cluster.api.remedies import no_namespace
from gitops_bg.core.model.version import AppKey, GroupKey


def group_in_git(session: Session, name: str, namespace: str = "") -> GroupKey:
    """Return the group of main that a person means; ``namespace`` is that of a bare name. Raises `ObjectNotFound`,
    `UsageError`.
    """
    written, name = app_name(name)
    namespace = written or namespace
    there = session.repository.groups()
    found = [key for key in there if key.name == name and namespace in ("", key.namespace)]
    if not found:
        known = f"; it has {', '.join(map(str, there))}" if there else ""
        raise NameNotFound(f"main has no group {f'{namespace}/' if namespace else ''}{name}{known}")
    if len(found) > 1:
        raise UsageError(f"{name} is ambiguous: {', '.join(map(str, found))}; name one of them in full")
    return found[0]


def group_meant(session: Session, name: str, namespace: str = "") -> GroupKey:
    """Return the group that a person means, also one whose folder left main where its namespace is named. Raises as
    `group_in_git`.
    """
    written, bare = app_name(name)
    namespace = written or namespace
    return GroupKey(namespace, bare) if namespace else group_in_git(session, name)


def group_facts(session: Session, group: GroupKey) -> GroupFacts:
    """Return all facts about a group now. Raises `CommandFailed` where main does not count, `NamespaceMissing`."""
    if session.lacks_namespace(group.namespace):
        raise NamespaceMissing(no_namespace(group.namespace))
    facts = _gathered(session, session.catalog([group.namespace], of_groups=True), group)
    return _knowing_others(session, group) if asks_about_others(facts.policies) else facts


def asking_for(facts: GroupFacts, version: str) -> GroupFacts:
    """Return the facts as if group.yaml asked for a version (empty: as it does); policies are not asked then: nobody
    has promoted it. Raises `ObjectNotFound`.
    """
    spec = facts.desired.spec
    if not version or spec is None or spec.active == version:
        return facts
    if version not in facts.desired.versions:
        known = ", ".join(facts.desired.versions)
        raise ObjectNotFound(f"main has no version {version} of {facts.group}; it has {known}")
    return replace(facts, desired=replace(facts.desired, spec=replace(spec, active=version), policing={}))


def members_facts(session: Session, group: GroupKey, names: Iterable[str]) -> dict[str, Facts]:
    """Return all facts about members, by the names of their apps; those that neither main nor the cluster has are left
    out.
    """
    catalog = session.catalog([group.namespace], of_groups=True)
    apps = (AppKey(group.namespace, name) for name in names)
    found = (gather(catalog, session.cluster, app, session.now) for app in apps)
    return {each.app.name: each for each in found if each is not None}


def _knowing_others(session: Session, group: GroupKey) -> GroupFacts:
    """Return them with what policies ask about others."""
    catalog = board_of_all(session)
    facts = _gathered(session, catalog, group)
    return facts.with_others(catalog.board.others(facts.policies, group))


def board_of_all(session: Session) -> Catalog:
    """Return a catalog whose board says how all apps and groups are: all of these are looked at, once."""
    catalog = session.catalog(of_groups=True)
    apps = (gather(catalog, session.cluster, app, session.now) for app in sorted(catalog.apps()))
    note_peers(catalog.board, (each for each in apps if each), session.now, session.cluster.since)
    session.note_groups(catalog)
    return catalog


def _gathered(session: Session, catalog: Catalog, group: GroupKey) -> GroupFacts:
    facts = GroupGatherer(catalog, session.cluster).gather(catalog.reading, group, session.now)
    if not isinstance(facts, GroupFacts) or (facts.desired.spec is None and not facts.desired.main.counts):
        lost = (catalog.rewritten or (facts.record.main.commit if facts else ""))[:10]
        raise CommandFailed(
            f"main no longer contains {lost}, which the cluster was decided from: nothing of {group} moves until "
            "somebody accepts that with `gitops-bg accept-history`"
        )
    return facts
