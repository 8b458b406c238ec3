"""What people change in a group.yaml, and ask of its agent: what is refused, the edits, and what an abort would do. The
same for the command line and the dashboard. Writes nothing, and prints nothing.
"""

from collections.abc import Iterable

from gitops_bg.agent.desired.reading import Reading
from gitops_bg.cluster.group_cluster import SeenGroup
from gitops_bg.core.errors import CommandFailed
from gitops_bg.core.groups.inputs import DesiredGroup, GroupSpec
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.requests import GroupAborting, aborting
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.groups.content import active_in
from gitops_bg.spec.manifests.edit import set_retry, set_suspend

# --- retry, and resume ---


def retry_of_group(key: GroupKey, spec: GroupSpec, content: str, record: GroupRecord, by: str) -> Retry:
    """Return the next retry of the version that main names, with the ``content`` of its folder. Raises `CommandFailed`
    where there is nothing to try again.
    """
    version, run = spec.active, record.analyses.run(AnalysisStage.POST)
    is_paused = run is not None and run.paused and version_in(run.digest) == version
    is_left = record.override is not None
    if record.state.stage(version) is VersionStage.ACTIVE and not (is_paused or is_left):
        raise CommandFailed(f"{key}: there is nothing to try again: main asks for {version}, which serves")
    return _next_retry(spec, content, record, by)


def lifting_of_group(desired: DesiredGroup, record: GroupRecord, by: str) -> Retry | None:
    """Return the retry that lifts the hold on what main names, if there is one."""
    spec = desired.spec
    version = desired.versions.get(spec.active) if spec is not None else None
    lifted = _next_retry(spec, version.content, record, by) if spec is not None and version is not None else None
    return lifted if lifted is not None and record.held(lifted.digest) else None


def _next_retry(spec: GroupSpec, content: str, record: GroupRecord, by: str) -> Retry:
    number = max(record.operator.retry, spec.retry.number if spec.retry else 0) + 1
    return Retry(f"{spec.active}-{content}", number, by, record.sequence)


def retrying_group(version: str, request: Retry, path: str, data: bytes | None) -> bytes:
    """Return group.yaml with a retry of the version that it names. Raises `CommandFailed` where that is another one."""
    if not isinstance(data, bytes) or active_in(data) != version:
        raise CommandFailed(f"{path} does not name {version} any more: somebody was faster")
    return set_retry(data, request, path)


def resuming_group(version: str, lifted: Retry | None, path: str, data: bytes) -> bytes:
    """Return group.yaml without its suspension, and with the retry that lifts a hold. Raises as `retrying_group`."""
    data = set_suspend(data, None, path)
    return retrying_group(version, lifted, path, data) if lifted is not None else data


def resumed_group(commit: str, lifted: Retry | None) -> str:
    """Return what became of it, as the end of a sentence; ``commit`` is empty where there was nothing to end."""
    if not commit:
        return "it is neither suspended nor is what main names on hold"
    return f"resumed{', the hold on what main names is lifted' if lifted else ''} by commit {commit[:10]}"


# --- an override ---


def policies_of_version(reading: Reading, group: GroupKey, desired: DesiredGroup, version: str) -> Iterable[Policy]:
    """Return the policies of main that are for any service of a version, each once."""
    services = desired.versions[version].services if version in desired.versions else ()
    apps = (AppKey(group.namespace, member_name(each, version)) for each in services)
    of, environment = reading.policies.of, reading.environment.name
    return dict.fromkeys(policy for app in apps for policy in of(app, reading.labels(app), environment))


def too_late_to_override(path: str, group: GroupKey, version: str) -> str:
    """Return why no override is possible: only the commit since which main names a version says in spite of what it
    does.
    """
    return (
        f"{group}: {path} names {version} already, and only the commit that names it can override a policy: "
        f"`gitops-bg rollback {group}` takes it back, then promote it with --override"
    )


# --- abort ---


def abort_of_group(seen: SeenGroup) -> GroupAborting:
    """Return what an abort of a group would do now."""
    spec = (seen.body or {}).get("spec") or {}
    return aborting(seen.record, str(spec.get("active", "")))


def demand_abortable_group(group: GroupKey, found: GroupAborting) -> GroupAborting:
    """Return what an abort would do. Raises `CommandFailed` where that is nothing."""
    if not found:
        stays = f"{found.live} stays live" if found.live else "nothing is live"
        leaves = f", and `gitops-bg rollback {group}` leaves it" if found.live else ""
        raise CommandFailed(f"{group}: there was nothing to abort; {stays}{leaves}")
    return found


def abort_of_group_says(group: GroupKey, found: GroupAborting) -> str:
    """Return what an abort would do, as a sentence."""
    goes = f"goes back to {found.goes_to}" if found.goes_to else "stays where it is"
    return f"{group}: stops {', '.join(found.stops)}; live traffic {goes}"
