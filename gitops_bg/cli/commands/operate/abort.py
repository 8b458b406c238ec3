"""`abort`: stops rollouts in progress and returns traffic to the last proven version, at once, even if Git is down.

The core decides what to stop and where traffic goes (`aborting`), of an app as of a release group.
"""

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.agent.groups.changes import abort_of_group, abort_of_group_says, demand_abortable_group
from gitops_bg.agent.operate.requests import abort_says, demand_abortable, names_of, new_request
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import Offline, facts_without_git
from gitops_bg.cli.commands.operate.gate import Reason
from gitops_bg.cli.errors import CommandFailed, NameNotFound, UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.groups import Group, live_group
from gitops_bg.cli.options.options import AuthorOptions, LiveOptions, PatienceOptions
from gitops_bg.cli.options.values import an_app
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.user_git import who
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.session.operator_requests import AnsweredRequest, asked_group, carry_out, each_of, facts_of, now
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.requests import GroupAborting
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, Version
from gitops_bg.core.transitions.journal import Aborting, aborting

if TYPE_CHECKING:
    from gitops_bg.views.shapes.decisions import AbortedAppJson, AbortedGroupJson

    _AbortedJson = AbortedAppJson | AbortedGroupJson


_Planned = Aborting | GroupAborting
_AT_A_TIME = 8
"""How many are aborted in parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyOptions:
    """The options that abort all apps at once."""

    every: Annotated[bool, typer.Option("--all", help="All in a rollout; with -n, those of a namespace.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask first.")] = False


@dataclass(frozen=True, slots=True)
class _Asked:
    at: LiveOptions
    by: str
    reason: str
    patience: PatienceOptions
    output: Output


def abort(
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
    emergency: EmergencyOptions,
    apps: Annotated[
        list[str] | None,
        typer.Argument(
            parser=an_app,
            metavar="[APP]...",
            autocompletion=completion.apps_and_groups,
            help="NAME or NAMESPACE/NAME, of an app or a release group.",
        ),
    ] = None,
    reason: Reason = "aborted by hand",
) -> int:
    """Abort rollouts: put the candidate on hold, and take traffic back from a version that is not proven yet.

    Traffic returns to the last proven version. This works without Git, and is written to Git afterwards. What
    cannot be aborted does not stop the others. --all first shows what it would stop, and asks.

    Example: gitops-bg abort shop/web --reason 'errors on the preview'
    """
    asked = _Asked(at, who(person.author), reason, patience, Output(at.out, dry_run=person.dry_run))
    if bool(apps) is emergency.every:
        raise UsageError("name the apps to abort, or all of them by --all" + (", not both" if apps else ""))
    if emergency.every:
        return _all(asked, sure=emergency.yes)
    found, unknown = each_of(apps or [], lambda name: _key(at, name), for_programs=asked.output.json)
    done, code = each_of(found, lambda key: _one(asked, key), for_programs=asked.output.json)
    asked.output.each(done)
    return unknown or code


def of_group(
    group: Group,
    at: LiveOptions,
    person: AuthorOptions,
    patience: PatienceOptions,
    reason: Reason = "aborted by hand",
) -> None:
    """Abort what is on its way in a group, and take requests back from a version that is not proven yet.

    The same as `gitops-bg abort`, also where an app has the name.

    Example: gitops-bg group abort shop/store --reason 'errors in the log'
    """
    output = Output(at.out, dry_run=person.dry_run)
    with LiveSession(at.kube, at.place) as session:
        key = live_group(session.client, at.place.namespace, group)
    output.each([abort_group(key, None, at, who(person.author), reason, patience, output)])


def _key(at: LiveOptions, name: str) -> AppOrGroup:
    """Return the app that a person means; where no live one has the name, the release group. Raises `NameNotFound`."""
    with Session(kube=at.kube, place=at.place) as session:
        try:
            app = session.app(name)
            if session.client.get(APPS, app.namespace, app.name) is not None:
                return app
            missing = NameNotFound(f"the cluster runs no app {app}")
        except NameNotFound as error:
            missing = error
        try:
            return live_group(session.client, at.place.namespace, name)
        except NameNotFound:
            raise missing from None


def _one(asked: _Asked, key: AppOrGroup, shown: _Planned | None = None) -> "tuple[_AbortedJson, str]":
    """Abort what was shown to somebody who agreed, and nothing else; or what is to be stopped now."""
    if isinstance(key, GroupKey):
        agreed = shown if isinstance(shown, GroupAborting) else None
        return abort_group(key, agreed, asked.at, asked.by, asked.reason, asked.patience, asked.output)
    return _one_app(asked, key, shown if isinstance(shown, Aborting) else None)


def _one_app(asked: _Asked, key: AppKey, shown: Aborting | None) -> "tuple[AbortedAppJson, str]":
    with Offline(access(asked.at.kube), key, now) as cluster:
        facts = facts_of(cluster, key)
        planned = demand_abortable(facts.record, key, shown or _planned(facts))
        said = abort_says(key, planned)
        if asked.output.dry_run:
            return _unstopped(key, planned), f"{said} (--dry-run: nothing was done)"
        if planned.goes_to:
            asked.output.notice(said)
        about = [each.digest for each in planned.stops]
        request = new_request(OperatorCommand.ABORT, asked.by, asked.reason, about=about, live=planned.live)
        return _abort_result(key, planned, carry_out(cluster, request, asked.patience, asked.output))


def _unstopped(app: AppKey, planned: Aborting) -> "AbortedAppJson":
    """Return what would be stopped, for programs: nothing is on hold by it."""
    goes = planned.goes_to
    return {
        "app": str(app),
        "held": [],
        "stopped": [each.number for each in sorted(planned.stops, key=lambda version: version.number)],
        "live": _shown(goes) if goes else None,
        "byAgent": False,
        "dryRun": True,
    }


def _planned(facts: Facts) -> Aborting:
    return aborting(facts.world(now()))


# --- what became of it ---


def _abort_result(app: AppKey, planned: Aborting, answered: AnsweredRequest[Record]) -> "tuple[AbortedAppJson, str]":
    """Return the result in both formats. Raises `CommandFailed` where nothing was stopped."""
    named = sorted(planned.stops, key=lambda version: version.number)
    stopped = [each for each in named if answered.after.held(each.digest)]
    moved, live = answered.after.routing.traffic != planned.live, _live(answered)
    if not stopped:
        raise CommandFailed(
            f"{app}: too late to abort {names_of(named)}; live traffic is with {live or 'nothing'};"
            f" see `gitops-bg history {app}`"
        )
    goes = f"went back to {live}" if moved else f"stays with {live or 'nothing'}"
    return (
        {
            "app": str(app),
            "held": [each.digest for each in stopped],
            "stopped": [each.number for each in stopped],
            "live": live,
            "byAgent": answered.by_agent,
            "dryRun": False,
        },
        f"{app}: aborted {names_of(stopped)}; live traffic {goes}",
    )


def _shown(version: Version) -> str:
    return version.name


def _live(answered: AnsweredRequest[Record]) -> str | None:
    version = answered.after.version(answered.after.routing.traffic)
    return _shown(version) if version else None


def abort_group(
    key: GroupKey,
    shown: GroupAborting | None,
    at: LiveOptions,
    by: str,
    reason: str,
    patience: PatienceOptions,
    output: Output,
) -> "tuple[AbortedGroupJson, str]":
    """Abort what was shown to somebody who agreed, and nothing else; or what is to be stopped now.

    Raises `CommandFailed` where there is nothing to abort, or it is too late.
    """
    with asked_group(at, str(key)) as asked:
        planned = demand_abortable_group(key, shown or abort_of_group(asked.seen))
        said = abort_of_group_says(key, planned)
        if output.dry_run:
            return _unstopped_group(key, planned), f"{said} (--dry-run: nothing was done)"
        if planned.goes_to:
            output.notice(said)
        request = new_request(OperatorCommand.ABORT, by, reason, about=planned.stops, live=planned.live)
        after = carry_out(asked, request, patience, output).after
    return abort_result(key, planned, after)


def _unstopped_group(key: GroupKey, planned: GroupAborting) -> "AbortedGroupJson":
    return {
        "group": str(key),
        "held": [],
        "stopped": list(planned.stops),
        "live": planned.goes_to or None,
        "byAgent": False,
        "dryRun": True,
    }


def abort_result(key: GroupKey, planned: GroupAborting, after: GroupRecord) -> "tuple[AbortedGroupJson, str]":
    """Return the result in both formats. Raises `CommandFailed` where nothing was stopped."""
    held = [each.digest for each in after.holds if version_in(each.digest) in planned.stops]
    live = after.state.only(VersionStage.ACTIVE)
    # Once Git has followed the way back, no hold is left of it.
    is_left = live == planned.goes_to != planned.live
    stopped = planned.stops if is_left else [each for each in planned.stops if each in map(version_in, held)]
    if not stopped:
        names, now = ", ".join(planned.stops), live or "nothing"
        bad = next((each for each in after.past_holds if version_in(each.digest) == planned.goes_to), None)
        why = f"{planned.goes_to} failed before ({bad.why})" if bad is not None else f"too late to abort {names}"
        raise CommandFailed(f"{key}: {why}; live traffic is with {now}; see `gitops-bg history {key}`")
    where = f"went back to {live}" if live != planned.live else f"stays with {live or 'nothing'}"
    return (
        {
            "group": str(key),
            "held": held,
            "stopped": list(stopped),
            "live": live or None,
            "byAgent": True,
            "dryRun": False,
        },
        f"{key}: aborted {', '.join(stopped)}; live traffic {where}",
    )


# --- all ---


def _all(asked: _Asked, *, sure: bool) -> int:
    """Abort everything that can be stopped, in parallel, after a confirmation."""
    planned, unseen = _something_to_stop(asked)
    if not planned:
        other = "other " if unseen else ""
        asked.output.both({"apps": []}, f"nothing is on its way in any {other}app or release group")
        return unseen
    if not sure and not asked.output.dry_run:
        _ask(planned)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        aborts = {key: pool.submit(_one, asked, key, found) for key, found in planned.items()}
        done, code = each_of(aborts, lambda key: aborts[key].result(), for_programs=asked.output.json)
    asked.output.each(done)
    return unseen or code


def _something_to_stop(asked: _Asked) -> tuple[dict[AppOrGroup, _Planned], int]:
    """Return what an abort of all would stop, and the exit code: what nobody can look at is reported, and keeps no
    other from being stopped.
    """
    with Session(kube=asked.at.kube, place=asked.at.place) as session:
        cluster, groups = session.cluster, GroupCluster(session.client)
        namespaces = (asked.at.place.namespace,) if asked.at.place.namespace else ()

        def planned_for(key: AppOrGroup) -> tuple[AppOrGroup, _Planned | None]:
            if isinstance(key, GroupKey):
                return key, abort_of_group(groups.seen(key))
            facts = facts_without_git(cluster, key)
            return key, _planned(facts) if facts else None

        lists: tuple[Callable[[], Iterable[AppOrGroup]], ...] = (
            lambda: sorted(cluster.apps()),
            lambda: sorted(groups.live(namespaces)),
        )
        listed, unlisted = each_of(lists, lambda list_: list_(), for_programs=asked.output.json)
        looked, unseen = each_of(chain.from_iterable(listed), planned_for, for_programs=asked.output.json)
    return {key: found for key, found in looked if found}, unlisted or unseen


def _says(key: AppOrGroup, found: _Planned) -> str:
    """Return what would be stopped, and where live traffic goes."""
    if isinstance(found, GroupAborting):
        assert isinstance(key, GroupKey)
        return abort_of_group_says(key, found)
    return abort_says(key, found)


def _ask(planned: dict[AppOrGroup, _Planned]) -> None:
    """Show what would be stopped, and ask. Raises `UsageError` where nobody can answer, `CommandFailed` for a no."""
    for key, found in planned.items():
        typer.echo(_says(key, found), err=True)
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to ask; --yes aborts them without asking")
    many = f"these {len(planned)} rollouts" if len(planned) > 1 else "this rollout"
    if not typer.confirm(f"Abort {many}?", err=True):
        raise CommandFailed("nothing was aborted")
