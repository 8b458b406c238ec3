"""What `abort` does about a release group: as about an app (`operate.abort`). The core decides what to stop."""

from typing import TYPE_CHECKING

from gitops_bg.cli.clone.user_git import who
from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.commands.group.live import live_group
from gitops_bg.cli.commands.operate.gate import Reason
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import AuthorOptions, LiveOptions, PatienceOptions
from gitops_bg.cli.session.live.asked_group import asked_group
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.session.operator_requests import carry_out, new_request
from gitops_bg.cli.views.output import Output
from gitops_bg.cluster.groups.group_cluster import SeenGroup
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.requests import Aborting, aborting
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.version import GroupKey

if TYPE_CHECKING:
    from gitops_bg.cli.printed.changes import AbortedGroupJson


def abort(
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


def planned_of(seen: SeenGroup) -> Aborting:
    """What an abort of a group would do now."""
    spec = (seen.body or {}).get("spec") or {}
    return aborting(seen.record, str(spec.get("active", "")))


def abort_group(
    key: GroupKey,
    shown: Aborting | None,
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
        planned = shown or planned_of(asked.seen)
        if not planned:
            stays = f"{planned.live} stays live" if planned.live else "nothing is live"
            leaves = f", and `gitops-bg rollback {key}` leaves it" if planned.live else ""
            raise CommandFailed(f"{key}: there was nothing to abort; {stays}{leaves}")
        said = f"{key}: stops {', '.join(planned.stops)}; live traffic {goes(planned)}"
        if output.dry_run:
            return _shown(key, planned), f"{said} (--dry-run: nothing was done)"
        if planned.goes_to:
            output.note(said)
        request = new_request(OperatorCommand.ABORT, by, reason, about=planned.stops, live=planned.live)
        after = carry_out(asked, request, patience, output).after
    return told(key, planned, after)


def goes(planned: Aborting) -> str:
    """Where requests go, in words."""
    return f"goes back to {planned.goes_to}" if planned.goes_to else "stays where it is"


def _shown(key: GroupKey, planned: Aborting) -> "AbortedGroupJson":
    return {
        "group": str(key),
        "held": [],
        "stopped": list(planned.stops),
        "live": planned.goes_to or None,
        "byAgent": False,
        "dryRun": True,
    }


def told(key: GroupKey, planned: Aborting, after: GroupRecord) -> "tuple[AbortedGroupJson, str]":
    """The result in both formats. Raises `CommandFailed` where nothing was stopped."""
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
