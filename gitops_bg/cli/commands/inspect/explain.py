"""`explain`: why an app is in its state: decides on fresh facts with the engine and shows the gates; writes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import facts_without_git
from gitops_bg.cli.edits.restore_version import changes_to, side_of
from gitops_bg.cli.exit_codes import NOT_SO, OK, code_of
from gitops_bg.cli.options.options import AppOptions, AppOrGroup
from gitops_bg.cli.options.quick_values import spoken
from gitops_bg.cli.session.heard_gates import with_heard_gates
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.refused_writes import as_far_as_the_agent_reads
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.condition_meanings import drawn, json_of
from gitops_bg.cli.views.explained import ShownGate, gate_table, json_of_statements, statement_lines, telling
from gitops_bg.cli.views.listing import without_what_was_told
from gitops_bg.cli.views.not_live import NotLive, held_back, went_back
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.pod_diagnosis import Trouble, troubles_of
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision, GateKind, GateResult
from gitops_bg.core.model.observed import GitView, ReplicaSetView
from gitops_bg.core.model.statements import Statements
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.core.status.meanings import troubles
from gitops_bg.core.world import World
from gitops_bg.repo.git.errors import AuthenticationFailed, BranchMissing, RemoteUnreachable
from gitops_bg.spec.codec import to_json
from gitops_bg.spec.manifests.configuration_changes import ConfigurationChange

if TYPE_CHECKING:
    from gitops_bg.cli.printed.apps import ExplanationJson

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
    alone: NotLive | None
    """Set if the target went back and traffic did not."""
    pinned: NotLive | None
    """Set if a pin holds the target back."""
    told: Statements
    """What was said of the versions that main names, and of those that traffic is with, or goes to."""
    now: datetime


def explain(
    app: AppOrGroup,
    at: AppOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 unless the app is Healthy.")] = False,
) -> int:
    """Explain what an app waits for: each gate, open or shut, why, until when, and what to do.

    Example: gitops-bg explain shop/web
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=apps_named(app), note=output.note) as session:
        facts, unread = _facts(session, session.app(app))
        if unread:
            output.note(f"main cannot be read from here, so this is what the cluster knows: {unread}")
        found = _look(session, facts, reads_git=unread is None)
        if output.json:
            output.data(_json(found))
        else:
            _show(output, found)
    if unread:
        return code_of(unread)
    return NOT_SO if exit_code and found.decision.phase is not Phase.HEALTHY else OK


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


def _look(session: Session, facts: Facts, *, reads_git: bool) -> _Findings:
    now = session.now
    decision = with_heard_gates(facts.decide(now), facts, session.cluster.manifest(facts.app))
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
        went_back(world),
        held_back(facts.config, decision.record),
        _told(world),
        now,
    )


def _told(world: World) -> Statements:
    record = world.record
    about = {world.target_digest, world.primary_digest, world.desired_digest, record.routing.traffic}
    return telling(record.statements, about)


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


def _json(found: _Findings) -> "ExplanationJson":
    decision, coming = found.decision, found.coming
    return {
        "app": str(found.facts.app),
        "phase": decision.phase,
        "active": _named(decision, decision.record.routing.traffic),
        "next": label(coming.number, coming.digest) if coming and decision.gates else None,
        "pullRequest": to_json(decision.pull) if decision.pull else None,
        "gates": [
            to_json(gate)
            | {
                "open": gate.open,
                "counts": _counts(found, gate),
                "remainingSeconds": max(0.0, (gate.until - found.now).total_seconds()) if gate.until else None,
                "advice": _advice(found, gate),
            }
            for gate in decision.gates
        ],
        "configuration": [to_json(change) for change in found.changes],
        "targetWentBack": to_json(found.alone) if found.alone else None,
        "targetHeldBack": to_json(found.pinned) if found.pinned else None,
        "troubles": [to_json(trouble) for trouble in found.troubles],
        "conditions": [json_of(condition, found.facts.app) for condition in decision.conditions],
        "statements": json_of_statements(found.told, partial(_title, decision)),
        "actions": [str(action) for action in decision.actions],
        "wakeAt": decision.wake_at.isoformat() if decision.wake_at else None,
    }


def _named(decision: Decision, digest: str) -> str | None:
    version = decision.record.version(digest)
    return label(version.number, version.digest) if version else None


def _title(decision: Decision, digest: str) -> str:
    """Return the name of a version, also of one that is forgotten."""
    return _named(decision, digest) or label(None, digest)


def _show(output: Output, found: _Findings) -> None:
    decision, coming = found.decision, found.coming
    output.line(f"{found.facts.app}: {decision.phase}", "bold")
    live = _named(decision, decision.record.routing.traffic)
    output.line(f"  live traffic goes to {live}" if live else "  nothing serves yet")
    pull = decision.pull
    if pull:
        output.line(f"  pull request #{pull.number} is {pull.state}: {pull.url}")
    for condition in troubles(decision.conditions):
        output.show(drawn(condition, found.facts.app, 2))
    for each in statement_lines(found.told, partial(_title, decision), 2):
        output.show(each)
    if coming and decision.gates:
        named, serves = label(coming.number, coming.digest), coming.digest == decision.record.routing.traffic
        stays = f"live traffic stays with {named} if this ends well:"
        output.line(f"  {stays if serves else f'next is {named}; before its traffic moves:'}")
        output.show(gate_table(_gates(found), found.now, indent=2))
        for change in found.changes:
            output.line(f"  it changes: {change}")
    for told in (found.pinned, found.alone):
        if told:
            output.line(f"  {told.reason}", "yellow")
            output.line(f"    {told.advice}", "cyan")
    for trouble in found.troubles:
        output.line(f"  {trouble}", "red")
        if trouble.advice:
            output.line(f"    {trouble.advice}", "cyan")
    for action in decision.actions:
        output.line(f"  about to be done: {action}")
    if decision.wake_at:
        output.line(
            f"  looked at again in {spoken((decision.wake_at - found.now).total_seconds())} at the latest", "dim"
        )


def _gates(found: _Findings) -> Iterator[ShownGate]:
    told = [condition.message for condition in troubles(found.decision.conditions)]
    for gate in found.decision.gates:
        reason = " ".join(part for part in (without_what_was_told(gate.reason, told), _counts(found, gate)) if part)
        yield ShownGate(gate, reason, _advice(found, gate))
