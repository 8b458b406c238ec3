"""`diff`: the target in Git against the live version. Compares snapshots, never server-defaulted objects."""

from dataclasses import replace

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.edits.configuration_content import side_of
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import App, AppOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.configuration_differences import Side, configuration_differences, without_secrets_of
from gitops_bg.cli.views.output import Output
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.version import Version
from gitops_bg.core.text.foreign_json import reread_json
from gitops_bg.spec.manifests.differences import Difference, differences


def diff(app: App, at: AppOptions) -> int:
    """Compare what the target asks for with what is live; exit 1 where they differ.

    Example: gitops-bg diff shop/web
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place) as session:
        facts = session.facts(session.app(app))
        world = facts.world(session.now)
        active, target = world.active, facts.desired.target
        if not target:
            raise (
                InvalidInput(*facts.desired.problems)
                if facts.desired.problems
                else CommandFailed(f"{facts.app} has no target")
            )
        found = _differences(session, facts, active and replace(active, snapshot=world.snapshot(active)), target)
    live = label(active.number, active.digest) if active else None
    title = f"{facts.app}: live is {live or 'nothing'}, the target is of {target.source.commit[:10]}"
    output.differences(found, title, {"app": str(facts.app), "live": live})
    return NOT_SO if found else OK


def _differences(session: Session, facts: Facts, active: Version | None, target: Target) -> list[Difference]:
    """Return the differences of the pod templates, ConfigMaps and Secrets; the values of Secrets are never shown."""
    before = reread_json(active.snapshot.text or "{}") if active else {}
    live = side_of(session, facts, active.snapshot, active.source.commit) if active else Side()
    wanted = side_of(session, facts, target.snapshot, target.source.commit)
    found = [*differences(before, reread_json(target.snapshot.text)), *configuration_differences(live, wanted)]
    return without_secrets_of(found, (*live.contents, *wanted.contents))
