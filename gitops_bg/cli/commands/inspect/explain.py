"""`explain`: why an app, or a release group, is in its state: decides on fresh facts with the engine and shows the
gates; writes nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType

from gitops_bg.agent.live_views import troubles_of
from gitops_bg.agent.operate.restore_version import side_of
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import facts_without_git
from gitops_bg.cli.errors import NOT_SO, OK, code_of
from gitops_bg.cli.options.groups import Group
from gitops_bg.cli.options.options import AppOptions, AppOrGroup
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.agent_knowledge import (
    as_far_as_the_agent_reads,
    with_reported_gates,
    with_reported_group_gates,
)
from gitops_bg.cli.session.location import apps_named, group_named
from gitops_bg.cli.session.session import Session, group_facts, group_in_git
from gitops_bg.cli.views.subject import drawn_explained, drawn_explanation, indented
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.foreign_json import ImageChange, image_changes
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision, GateKind, GateResult
from gitops_bg.core.model.observed import GitView, ReplicaSetView
from gitops_bg.core.model.statements import Statements
from gitops_bg.core.model.version import AppKey, Stage, Version, version_name
from gitops_bg.core.status.deadlines import RELEASE
from gitops_bg.core.world import World
from gitops_bg.repo.git.errors import AuthenticationFailed, BranchMissing, RemoteUnreachable
from gitops_bg.spec.app.primary import ConfigurationChange
from gitops_bg.spec.codec import to_json
from gitops_bg.views.conditions import table_of, troubles
from gitops_bg.views.differences import changes_to
from gitops_bg.views.explanation import (
    Explained,
    Explanation,
    ShownGate,
    json_explained,
    json_explanation,
    statements_about,
)
from gitops_bg.views.obstacles import NotLive, Trouble, held_back, went_back
from gitops_bg.views.words import spoken

if TYPE_CHECKING:
    from gitops_bg.views.shapes.apps import ExplanationJson


_UNREAD = (AuthenticationFailed, BranchMissing, RemoteUnreachable)
"""What the remote says where main cannot be read."""
_OF_PODS = (GateKind.AVAILABILITY, GateKind.ENDPOINTS)


@dataclass(frozen=True, slots=True)
class _Findings:
    """The engine's decision on fresh facts; ``coming`` is the version whose gates are shown."""

    facts: Facts
    decision: Decision
    coming: Version | None
    troubles: tuple[Trouble, ...]
    changes: tuple[ConfigurationChange, ...]
    """What ``coming`` changes besides the pod template."""
    images: tuple[ImageChange, ...]
    alone: NotLive | None
    """Set if the target went back and traffic did not."""
    pinned: NotLive | None
    """Set if a pin holds the target back."""
    told: Statements
    """What was said of the versions that main names, and of those that traffic is with, or goes to."""
    now: datetime
    notes: tuple[str, ...] = ()
    """What is to be known of its way through environments."""


def explain(
    app: AppOrGroup,
    at: AppOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 unless the app is Healthy.")] = False,
) -> int:
    """Explain what an app waits for: each gate, open or shut, why, until when, and what to do.

    Example: gitops-bg explain shop/web
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=apps_named(app), note=output.notice) as session:
        facts, unread = _facts(session, session.app(app))
        if unread:
            output.notice(f"main cannot be read from here, so this is what the cluster knows: {unread}")
        found = _findings(session, facts, reads_git=unread is None)
        if output.json:
            output.data(_json(found))
        else:
            output.show(drawn_explained(_explained(found), of_gates=_of_the_pods(found)))
            _say_when(output, found.decision.wake_at, found.now)
    if unread:
        return code_of(unread)
    return NOT_SO if exit_code and found.decision.phase is not Phase.HEALTHY else OK


def of_group(
    group: Group,
    at: AppOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 unless the group is Healthy.")] = False,
) -> int:
    """Explain what a group waits for: its versions, their services, each gate, what comes next, and what to do.

    Example: gitops-bg group explain shop/store
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=group_named(group), note=output.notice) as session:
        facts, now = group_facts(session, group_in_git(session, group, at.place.namespace)), session.now
        decision = with_reported_group_gates(facts.decide(now), facts)
        found = Explanation(facts.group, facts.desired, facts.observed, decision, now)
    if output.json:
        output.data(json_explanation(found))
    else:
        output.show(drawn_explanation(found))
        _say_when(output, found.decision.wake_at, found.now)
    return NOT_SO if exit_code and found.decision.phase is not Phase.HEALTHY else OK


def _say_when(output: Output, wake_at: datetime | None, now: datetime) -> None:
    if wake_at:
        output.detail(f"looked at again in {spoken((wake_at - now).total_seconds())} at the latest")


def _facts(session: Session, app: AppKey) -> tuple[Facts, GitopsBgError | None]:
    """Return the facts as far as the agent reads main; from the cluster alone where main cannot be read from here, and
    why. Raises the errors of both where the cluster knows no such app.
    """
    try:
        return as_far_as_the_agent_reads(session.facts(app), session.cluster), None
    except _UNREAD as error:
        if (known := facts_without_git(session.cluster, app)) is None:
            raise
        facts = replace(known, observed=replace(known.observed, git=GitView()))
        return session.as_the_agent_knows(facts, session.cluster.manifest(app)), error


def _findings(session: Session, facts: Facts, *, reads_git: bool) -> _Findings:
    now = session.now
    decision = with_reported_gates(facts.decide(now), facts, session.cluster.manifest(facts.app))
    world = facts.world(now).with_record(decision.record)
    coming = world.incoming or world.record.version(world.target_digest)
    waited_for = any(not gate.open and gate.kind in _OF_PODS for gate in decision.gates)
    wanted = waited_for and coming and _pods(facts, coming)
    folder = session.repository.places.folder(facts.app) if reads_git else f"apps/{facts.app}"
    troubles = troubles_of(session.cluster, facts.app, coming.snapshot, folder) if wanted and coming else ()
    return _Findings(
        facts,
        decision,
        coming,
        troubles,
        _changes(session, facts, decision, coming) if reads_git else (),
        image_changes(*(world.snapshot(each).text if each else "" for each in (world.active, coming))),
        went_back(world),
        held_back(facts.config, decision.record),
        _statements(world),
        now,
        tuple(_of_the_way(session, facts)) if reads_git else (),
    )


def _of_the_way(session: Session, facts: Facts) -> Iterator[str]:
    """Yield what is to be known of the way of an app through environments, and where to see all of it."""
    environment, at = facts.desired.environment, session.repository.environment
    if environment is None or len(at.environments.names) < 2:
        return
    if not environment.formers and environment.name != at.environments.names[0]:
        yield f"{environment.name} is its first environment: what is pushed to its target comes here unproven"
    yield f"gitops-bg environments {facts.app} shows it in every environment"


def _statements(world: World) -> Statements:
    record = world.record
    about = {world.target_digest, world.primary_digest, world.desired_digest, record.routing.traffic}
    return statements_about(record.statements, about)


def _changes(
    session: Session, facts: Facts, decision: Decision, coming: Version | None
) -> tuple[ConfigurationChange, ...]:
    live = decision.record.version(decision.record.routing.traffic)
    if coming is None or live is None or live.snapshot.configuration == coming.snapshot.configuration:
        return ()
    return changes_to(*(side_of(session, facts, each.snapshot, each.source.commit) for each in (live, coming)))


def _pods(facts: Facts, coming: Version | None) -> ReplicaSetView | None:
    """Return the pods of the version, if it should have any."""
    views = (view for view in facts.observed.replica_sets if coming and view.snapshot.digest == coming.digest)
    return next((view for view in views if view.replicas), None)


def _counts(found: _Findings, gate: GateResult) -> str:
    """Return how many pods the version has, if the gate counts them."""
    view = _pods(found.facts, found.coming) if gate.kind in _OF_PODS else None
    return f"({view.available}/{view.replicas} available)" if view else ""


def _advice(found: _Findings, gate: GateResult) -> str:
    """Return what to do about a gate; about pods only if there are any, and there is no better advice."""
    if gate.kind in _OF_PODS and (found.troubles or not _pods(found.facts, found.coming)):
        return ""
    return "" if gate.open else gate.remedy


def _explained(found: _Findings) -> Explained:
    """Return what `explain` shows of it as of a group."""
    decision, coming = found.decision, found.coming
    traffic = decision.record.routing.traffic
    live, named = _named(decision, traffic), coming.name if coming else ""
    entering = (each.reason for each in decision.waits if each.gate == RELEASE)
    serves = f"live traffic goes to {live}" if live else "nothing serves yet"
    stays = f"live traffic stays with {named} if this ends well:"
    return Explained(
        subject=found.facts.app,
        environment=decision.environment,
        phase=decision.phase,
        active=live or "",
        coming=named if decision.gates else "",
        serves=(serves, *_of_release(decision), *entering, *found.notes),
        before_gates=stays if coming and coming.digest == traffic else f"next is {named}; before its traffic moves:",
        gates=tuple(
            ShownGate(gate, gate.reason, _advice(found, gate), _counts(found, gate)) for gate in decision.gates
        ),
        pull=decision.pull,
        conditions=decision.conditions,
        told=found.told,
        name=partial(_title, decision),
        actions=decision.actions,
        wake_at=decision.wake_at,
        now=found.now,
    )


def _of_release(decision: Decision) -> Iterator[str]:
    """Say which release the version is of that serves, and the one that is next."""
    for said, version in (("serves", _active(decision)), ("is next", _coming(decision))):
        if version is not None and version.release is not None:
            yield f"in {decision.environment}, release {version.release.name} {said}, as {version.name}"


def _active(decision: Decision) -> Version | None:
    return decision.record.version(decision.record.routing.traffic)


def _coming(decision: Decision) -> Version | None:
    candidates = (each for each in decision.record.versions if each.stage is Stage.CANDIDATE and not each.retiring)
    return next(candidates, None)


def _json(found: _Findings) -> "ExplanationJson":
    return {
        **json_explained(_explained(found)),
        "app": str(found.facts.app),
        "environment": found.decision.environment or None,
        "release": str(active.release) if (active := _active(found.decision)) and active.release else None,
        "configuration": [to_json(change) for change in found.changes],
        "images": [to_json(change) for change in found.images],
        "targetWentBack": to_json(found.alone) if found.alone else None,
        "targetHeldBack": to_json(found.pinned) if found.pinned else None,
        "troubles": [to_json(trouble) for trouble in found.troubles],
    }


def _named(decision: Decision, digest: str) -> str | None:
    version = decision.record.version(digest)
    return version.name if version else None


def _title(decision: Decision, digest: str) -> str:
    """Return the name of a version, also of one that is forgotten."""
    return _named(decision, digest) or version_name(None, digest)


def _of_the_pods(found: _Findings) -> Iterator[RenderableType]:
    """Yield what the version changes, and what is wrong with its pods."""
    for change in (*found.images, *found.changes):
        yield indented(f"it changes: {change}")
    for told in (found.pinned, found.alone):
        if told:
            yield indented(told.reason, "yellow")
            yield indented(told.advice, "cyan", 4)
    shown = [each.message for each in troubles(found.decision.conditions, table_of(found.facts.app))]
    for trouble in found.troubles:
        is_shown = any(trouble.message and trouble.message in each for each in shown)
        if not is_shown:
            yield indented(str(trouble), "red")
        if trouble.advice:
            yield indented(trouble.advice, "cyan", 2 if is_shown else 4)
