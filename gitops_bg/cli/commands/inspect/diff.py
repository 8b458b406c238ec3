"""`diff`: what main asks for, or another version, against what is live. Writes nothing.

Compares snapshots, never server-defaulted objects. The services of a release group are compared as apps are, and its
HTTPRoutes and Services besides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.operate.compare import ComparedVersion, compared_version, differences_between, with_template
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.commands.inspect.diff_environments import environment_differences, in_environment
from gitops_bg.cli.errors import NOT_SO, OK, CommandFailed, UsageError
from gitops_bg.cli.options.groups import Group, group_version_option
from gitops_bg.cli.options.options import AppOptions, AppOrGroup, version_option
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.proposals import number_named
from gitops_bg.cli.session.location import apps_named, group_named
from gitops_bg.cli.session.session import Session, asking_for, group_facts, group_in_git, members_facts
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import tag_of
from gitops_bg.core.groups.forecast import Forecast, forecast
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.model import version as model
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.version import Version, version_name
from gitops_bg.spec.manifests.differences import Difference
from gitops_bg.views.differences import (
    route_differences,
    service_differences,
)

if TYPE_CHECKING:
    from gitops_bg.views.shapes.apps import ComparedJson, EnvironmentsComparedJson


FromOption = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="ENVIRONMENT",
        help="Compare this environment of an app with the one that --to names: what each serves, its configuration, "
        "and the release that came in; by main alone.",
    ),
]


def diff(
    app: AppOrGroup,
    at: AppOptions,
    to: Annotated[
        str,
        version_option("Compare with this version: v4, 4, a tag, or the beginning of a digest. Default: the target."),
    ] = "",
    from_: FromOption = "",
) -> int:
    """Compare what the target asks for, or another version, with what is live; exit 1 where they differ.

    With --from it compares what two environments of the repository have.

    Example: gitops-bg diff shop/web --to v4
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=apps_named(app), note=output.notice) as session:
        if from_:
            return _print_environments(output, session, session.app(app), from_, to)
        return _print_comparison(output, _of_app(session, session.facts(session.app(app)), to))


def of_group(
    group: Group,
    at: AppOptions,
    to: Annotated[str, group_version_option("Compare with this version. Default: the one that main asks for.")] = "",
    from_: FromOption = "",
) -> int:
    """Compare what a group serves by main, or by another version, with what is live: what its services run, its routes
    and Services; exit 1 where they differ.

    Example: gitops-bg group diff shop/store --to v2
    """
    output = Output(at.out)
    if from_:
        raise UsageError("--from: release groups are in no environment; only apps are")
    with Session(at.git, at.kube, at.place, about=group_named(group), note=output.notice) as session:
        facts = group_facts(session, group_in_git(session, group, at.place.namespace))
        return _print_comparison(output, _of_group(session, asking_for(facts, to)))


def _print_environments(output: Output, session: Session, app: model.AppKey, before: str, after: str) -> int:
    """Print what two environments have of an app. Raises `UsageError` where --to names none."""
    if not after:
        raise UsageError(f"--to: name the environment that {before} is compared with")
    one, other = in_environment(session, app, before), in_environment(session, app, after)
    found = environment_differences(one, other)
    said: EnvironmentsComparedJson = {"app": str(app), "before": one.json(), "after": other.json()}
    output.differences(found, f"{app}: {one.described}; {other.described}", dict(said))
    return NOT_SO if found else OK


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two versions of an app or a group."""

    subject: model.AppOrGroup
    live: str
    """The version that serves; empty where none does."""
    to: str
    """The one that it is compared with."""
    commit: str
    """The commit of main that has this."""
    found: Sequence[Difference]


def _print_comparison(output: Output, compared: _Compared) -> int:
    about, live, to = compared.subject, compared.live, compared.to
    said: ComparedJson = {"live": live or None, "to": to, "commit": compared.commit}
    title = f"{about}: live is {live or 'nothing'}, compared with {to} of commit {compared.commit[:10]}"
    output.differences(compared.found, title, {about.kind: str(about), **said})
    return NOT_SO if compared.found else OK


# --- an app ---


def _of_app(session: Session, facts: Facts, to: str) -> _Compared:
    world = facts.world(session.now)
    number = number_named(to, world, session)
    other = with_template(session.repository, world, number) if number else _target(facts)
    version = world.record.version(other.snapshot.digest)
    number, snapshot = number or (version.number if version else None), other.snapshot
    named = version_name(number, snapshot.digest, tag_of(snapshot.text))
    active = world.active
    found = _differences(session, facts, facts, other)
    live = active.name if active else ""
    return _Compared(facts.app, live, named, other.source.commit, found)


def _target(facts: Facts) -> Target:
    """Return the target. Raises `InvalidInput` where it has mistakes, `CommandFailed` where there is none."""
    if facts.desired.target:
        return facts.desired.target
    if facts.desired.problems:
        raise InvalidInput(*facts.desired.problems)
    raise CommandFailed(f"{facts.app} has no target")


def _differences(session: Session, live: Facts | None, facts: Facts, wanted: Target | Version) -> list[Difference]:
    """Return the differences of the pod templates, ConfigMaps and Secrets of what is live of an app, or of none, and of
    a version of another one, or of the same; the values of Secrets are never shown.
    """
    before, world = ComparedVersion(), live.world(session.now) if live is not None else None
    if live is not None and world is not None and world.active is not None:
        before = compared_version(session, live, world.snapshot(world.active), world.active.source.commit)
    after = compared_version(session, facts, wanted.snapshot, wanted.source.commit)
    return differences_between(before, after)


# --- a release group ---


def _of_group(session: Session, facts: GroupFacts) -> _Compared:
    if facts.desired.spec is None or facts.desired.is_last_valid:
        raise InvalidInput(*facts.desired.problems)
    decision, observed = facts.decide(session.now), facts.observed
    ahead = forecast(facts.group, facts.desired, observed, decision.record, session.now)
    routes = {route.name: route for route in ahead.routes}
    found = [
        *_of_services(session, facts, ahead),
        *route_differences(observed.routes, routes),
        *service_differences(observed.services, ahead.services),
    ]
    live = decision.record.state.only(VersionStage.ACTIVE)
    return _Compared(facts.group, live, facts.desired.spec.active, facts.desired.commit, found)


def _of_services(session: Session, facts: GroupFacts, ahead: Forecast) -> Iterator[Difference]:
    """Yield the differences of what each service runs now and then; those of an app, below the service's name.

    A member without a target that can be read serves on as it is: its folder left main, or has mistakes.
    """
    now = {name: each.member for name, each in facts.observed.services.items() if each.member and not each.foreign}
    members = members_facts(session, facts.group, {*now.values(), *ahead.services.values()})
    for service, member in sorted(ahead.services.items()):
        wanted = members.get(member)
        if wanted is not None and wanted.desired.target:
            found = _differences(session, members.get(now.get(service, "")), wanted, wanted.desired.target)
            yield from (replace(each, path=f"{service}: {each.path}") for each in found)
