"""`diff`: the target in Git, or another version, against the live version.

Compares snapshots, never server-defaulted objects.
"""

from dataclasses import replace
from typing import Annotated

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.edits.proposals import number_named, with_template
from gitops_bg.cli.edits.restore_version import side_of
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import AppOptions, AppOrGroup, version_option
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.configuration_differences import Side, configuration_differences, without_secrets_of
from gitops_bg.cli.views.output import Output
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.version import Version
from gitops_bg.core.text.foreign_json import reread_json
from gitops_bg.spec.manifests.differences import Difference, differences


def diff(
    app: AppOrGroup,
    at: AppOptions,
    to: Annotated[
        str,
        version_option("Compare with this version: v4, 4, a tag, or the beginning of a digest. Default: the target."),
    ] = "",
) -> int:
    """Compare what the target asks for, or another version, with what is live; exit 1 where they differ.

    Example: gitops-bg diff shop/web --to v4
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=apps_named(app), note=output.note) as session:
        facts = session.facts(session.app(app))
        world = facts.world(session.now)
        active, number = world.active, number_named(to, world, session)
        other = with_template(session, world, number) if number else _target(facts)
        found = _differences(session, facts, active and replace(active, snapshot=world.snapshot(active)), other)
    live = label(active.number, active.digest) if active else None
    compared = label(number, other.snapshot.digest) if number else None
    what = f"compared with {compared}" if compared else f"the target is of {other.source.commit[:10]}"
    facts_of = {"app": str(facts.app), "live": live} | ({"to": compared} if compared else {})
    output.differences(found, f"{facts.app}: live is {live or 'nothing'}, {what}", facts_of)
    return NOT_SO if found else OK


def _target(facts: Facts) -> Target:
    """Return the target. Raises `InvalidInput` where it has mistakes, `CommandFailed` where there is none."""
    if facts.desired.target:
        return facts.desired.target
    if facts.desired.problems:
        raise InvalidInput(*facts.desired.problems)
    raise CommandFailed(f"{facts.app} has no target")


def _differences(session: Session, facts: Facts, active: Version | None, target: Target | Version) -> list[Difference]:
    """Return the differences of the pod templates, ConfigMaps and Secrets; the values of Secrets are never shown."""
    before = reread_json(active.snapshot.text or "{}") if active else {}
    live = side_of(session, facts, active.snapshot, active.source.commit) if active else Side()
    wanted = side_of(session, facts, target.snapshot, target.source.commit)
    found = [*differences(before, reread_json(target.snapshot.text)), *configuration_differences(live, wanted)]
    return without_secrets_of(found, (*live.contents, *wanted.contents))
