"""`plan`: what the agent would do now, from Git and the live cluster, or from a file. Writes nothing to either."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.reconcile.facts import Facts, Live, facts_of, look
from gitops_bg.agent.reconcile.peer_facts import Since, knowing_one_another, wants_peers
from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.options.app_names import an_app
from gitops_bg.cli.options.options import PlanFormat, PlanOptions
from gitops_bg.cli.session import observed_file
from gitops_bg.cli.session.pull_comment import pull_comment
from gitops_bg.cli.session.refused_writes import as_the_agent_knows
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.plan_markdown import markdown
from gitops_bg.cli.views.plan_sarif import sarif
from gitops_bg.cli.views.planned import Place, Planned, PlannedApp
from gitops_bg.core.model.actions import Action
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import POLICIES_FOLDER
from gitops_bg.spec.codec import to_json
from gitops_bg.spec.policies.load import load_policies

_FOR_FORGES = (PlanFormat.SARIF, PlanFormat.MARKDOWN)
_TO_BE_MADE = "planned"
"""The uid of a BlueGreenDeployment that the first action creates."""


def plan(
    at: PlanOptions,
    apps: Annotated[
        list[str] | None, typer.Argument(parser=an_app, metavar="[APP]...", help="Default: all apps.")
    ] = None,
    observed: Annotated[
        Path | None,
        typer.Option("--observed", metavar="FILE", help="Read what is live from a file instead of a cluster."),
    ] = None,
    dump_observed: Annotated[
        Path | None, typer.Option("--dump-observed", metavar="FILE", help="Also write what is live to a file.")
    ] = None,
) -> None:
    """Show what would be done now, changing nothing: neither the cluster nor Git.

    With -o markdown or sarif it is for the pull request of a branch: --branch names that. With --comment it is a
    comment there, which the next plan replaces.

    Example: gitops-bg plan shop/web
    """
    output = Output(at.out.ordinary)
    comment = pull_comment(at.pull, at.git.git_ca_file)
    with Session(at.git, None if observed else at.kube, at.place, with_ledger=True) as session:
        live = observed_file.load(observed) if observed else None
        records = None if live is None else [each.record for each in live.values()]
        catalog = session.catalog([at.place.namespace] if at.place.namespace else [], records)
        chosen = _chosen(session, catalog, live, apps or [])
        seen = {app: _seen(session, catalog, live, app) for app in chosen}
        if dump_observed:
            observed_file.dump(seen, dump_observed)
        plans = list(_plans(session, catalog, live, seen))
        planned = _planned(session, catalog, plans)
    if comment:
        comment.keep("plan", markdown(planned))
    if at.out.output in _FOR_FORGES:
        _tell_forge(output, at.out.output, planned)
    elif output.json:
        output.data({"commit": catalog.commit, "apps": [_json(facts, steps) for facts, steps in plans]})
    else:
        _show(output, catalog, plans)


def _planned(session: Session, catalog: Catalog, plans: list[tuple[Facts, list[Decision]]]) -> Planned:
    """Return the plans as plain data, with the places of the policies."""
    files = {path: file.content for path, file in session.repository.files_below(POLICIES_FOLDER).items()}
    places = {
        each.policy.name: Place(each.document.file, each.document.problem(("metadata", "name"), "").line)
        for each in load_policies(files).written
    }
    apps = (
        PlannedApp(
            facts.app,
            steps[-1].phase,
            tuple(map(str, _actions(steps))),
            steps[-1].gates,
            facts.desired.problems,
            session.repository.places.folder(facts.app),
        )
        for facts, steps in plans
    )
    return Planned(catalog.commit, tuple(apps), places)


def _tell_forge(output: Output, how: PlanFormat, planned: Planned) -> None:
    if how is PlanFormat.SARIF:
        output.data(sarif(planned))
    else:
        sys.stdout.write(markdown(planned))
        sys.stdout.flush()


def _chosen(session: Session, catalog: Catalog, live: dict[AppKey, Live] | None, names: list[str]) -> list[AppKey]:
    there = set(live) if live is not None else set(session.cluster.apps())
    known = catalog.apps() | {app for app in there if catalog.cares_for(app)}
    if not names:
        return sorted(known)
    chosen = [_named(name, known) for name in names]
    return sorted(set(chosen))


def _named(name: str, known: set[AppKey] | frozenset[AppKey]) -> AppKey:
    found = sorted(app for app in known if name in (app.name, str(app)))
    if len(found) != 1:
        which = f": {', '.join(map(str, found))}" if found else ""
        raise ObjectNotFound(f"{'no' if not found else 'more than one'} app is called {name}{which}")
    return found[0]


def _seen(session: Session, catalog: Catalog, live: dict[AppKey, Live] | None, app: AppKey) -> Live:
    if live is None:
        return look(session.cluster, app, catalog.reading)
    return live.get(app) or Live.nothing()


def _plans(
    session: Session, catalog: Catalog, live: dict[AppKey, Live] | None, seen: dict[AppKey, Live]
) -> Iterator[tuple[Facts, list[Decision]]]:
    """Yield what would be done with each app that was ``seen``; other apps are read only if a policy asks
    about them.
    """
    now, planned = session.now, [each for app in seen if (each := _facts(catalog, app, seen[app]))]
    if any(map(wants_peers, planned)):
        others = {app: _seen(session, catalog, live, app) for app in sorted(catalog.apps() - seen.keys())}
        beside = [each for app in others if (each := _facts(catalog, app, others[app]))]
        planned = knowing_one_another(catalog.board, [*planned, *beside], now, _since(session, live))[: len(planned)]
    return ((facts, list(_steps(facts, now))) for facts in planned)


def _facts(catalog: Catalog, app: AppKey, live: Live) -> Facts | None:
    facts = facts_of(catalog, catalog.reading, app, live)
    return as_the_agent_knows(facts, live.manifest) if facts else None


def _since(session: Session, live: dict[AppKey, Live] | None) -> Since:
    return session.cluster.since if live is None else lambda _app, _condition: None


def _steps(facts: Facts, now: datetime) -> Iterator[Decision]:
    """Yield the decision; for an app without an object also the next one, which names what is deployed."""
    first = facts.decide(now)
    yield first
    if not facts.observed.app_uid and first.actions:
        made = replace(facts, observed=replace(facts.observed, app_uid=_TO_BE_MADE))
        yield made.decide(now)


def _actions(steps: list[Decision]) -> list[Action]:
    return [action for step in steps for action in step.actions]


def _json(facts: Facts, steps: list[Decision]) -> dict[str, Any]:
    last = steps[-1]
    return {
        "app": str(facts.app),
        "phase": last.phase,
        "actions": [
            {"action": type(action).__name__, "sentence": str(action), "arguments": to_json(action)}
            for action in _actions(steps)
        ],
        "gates": [to_json(gate) | {"open": gate.open} for gate in last.gates],
        "problems": [to_json(problem) for problem in facts.desired.problems],
        "wakeAt": last.wake_at.isoformat() if last.wake_at else None,
    }


def _show(output: Output, catalog: Catalog, plans: list[tuple[Facts, list[Decision]]]) -> None:
    busy = 0
    for facts, steps in plans:
        actions = _actions(steps)
        busy += bool(actions)
        output.line(f"{facts.app}: {steps[-1].phase}" + ("" if actions else ", nothing to do"), "bold")
        for problem in facts.desired.problems:
            output.line(f"  ! {problem}", "red")
        for number, action in enumerate(actions, 1):
            output.line(f"  {number}. {action}")
        for gate in steps[-1].gates:
            if not gate.open:
                output.line(f"  waits for {gate.kind}: {gate.reason}", "yellow")
    output.line(f"{busy} of {len(plans)} apps have something to do at commit {catalog.commit[:10]}", "dim")
