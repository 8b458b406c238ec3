"""Names, labels and annotations of live objects: one place for every word that Kubernetes sees (DESIGN §3.4).

And the name of the promotion branch, which people read as well.
"""

import hashlib
import re
from typing import TYPE_CHECKING

from gitops_bg.core.model.version import AppKey, AppOrGroup, ConfigurationRef, EntryKey, GroupKey, PullSubject, short

if TYPE_CHECKING:
    from gitops_bg.core.model.analysis import MeasurementId

PROMOTION_PREFIX = "gitops-bg/promote/"
"""The prefix of promotion branches (DESIGN §3.2)."""

GROUP_PROMOTION_PREFIX = "gitops-bg/promote-groups/"
"""Of branches that ask for a version of a release group where main takes no commit from the agent. Not below the prefix
of apps: there, an app of the namespace ``groups`` may have a branch.
"""
ENTRY_PREFIX = "gitops-bg/enter/"
"""Of branches that ask for a release in an environment. Not below the prefix of apps: a namespace may be called as an
environment.
"""
ENVIRONMENT_PROMOTION_PREFIX = "gitops-bg/promote-in/"
"""Of branches that ask for a version of an app in one environment: the environment follows, then the app. Not below the
prefix of apps: a namespace may be called as an environment, and Git has no branch below another.
"""
PROMOTION_PREFIXES = (PROMOTION_PREFIX, GROUP_PROMOTION_PREFIX, ENVIRONMENT_PROMOTION_PREFIX)
PULL_PREFIXES = (*PROMOTION_PREFIXES, ENTRY_PREFIX)
"""Of all branches that have pull requests of the agent."""

GROUP = "gitops-bg.dev"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "BlueGreenDeployment"
PLURAL = "bluegreendeployments"
GROUP_KIND = "ReleaseGroup"
GROUP_PLURAL = "releasegroups"
FIELD_MANAGER = "gitops-bg"

OWN_LABELS = {"app.kubernetes.io/name": "gitops-bg", "app.kubernetes.io/part-of": "gitops-bg"}
"""What every object of an installation has, the agent's own and the definitions of its kinds."""
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gitops-bg"
APP = f"{GROUP}/app"
RELEASE_GROUP = f"{GROUP}/group"
MEMBER = f"{GROUP}/member"
DIGEST = f"{GROUP}/digest"
COLOR = f"{GROUP}/color"
VERSION = f"{GROUP}/version"

# Annotations.
FULL_DIGEST = f"{GROUP}/full-digest"
SNAPSHOT = f"{GROUP}/snapshot"
ANTI_AFFINITY = f"{GROUP}/anti-affinity"
NOWHERE = f"{GROUP}/nowhere"
"""The label of no node, by which a DaemonSet is taken off all of them: it cannot be scaled to 0."""
OWN_PODS = f"{GROUP}/own-pods"
POD_METADATA = f"{GROUP}/pod-metadata"
CONFIGURATION = f"{GROUP}/configuration"
COPY_OF = f"{GROUP}/copy-of"
CONTENT_DIGEST = f"{GROUP}/content-digest"
REPOSITORY = f"{GROUP}/repository"
CLUSTER = f"{GROUP}/cluster"
BRANCH = f"{GROUP}/branch"
CLAIMED_BY = f"{GROUP}/claimed-by"
WITHDRAWN = f"{GROUP}/withdrawn"
BEFORE_ADOPTION = f"{GROUP}/before-adoption"
ALL_VERSIONS = f"{GROUP}/all-versions"
"""``"true"`` on somebody else's Service: it may have the pods of every version, also of those that nobody promoted."""
REQUEST = f"{GROUP}/request"
APPLIED = f"{GROUP}/applied"
RECONCILE = f"{GROUP}/reconcile-requested-at"
MEASUREMENT = f"{GROUP}/measurement"
METRIC = f"{GROUP}/metric"
DEADLINE = f"{GROUP}/deadline"

# Kubernetes: label values and most names are limited to 63 characters (concepts/overview/working-with-objects).
LONGEST_NAME = 63
LONGEST_BEFORE_RANDOM = LONGEST_NAME - len("-") - 5
"""Of the name of a ReplicaSet: a dash and five random characters follow it in the names of pods, and nothing is cut."""

_END = re.compile(r"-v(?P<number>[1-9][0-9]*)-(?P<digest>[0-9a-f]{10})\Z")


def promotion_branch(subject: PullSubject, environment: str = "") -> str:
    """Return the one branch that asks for a version of an app, in an environment where it is in one, or of a release
    group, or for a release in an environment; no two have the same.

    >>> promotion_branch(AppKey("shop", "store")), promotion_branch(GroupKey("shop", "store"))
    ('gitops-bg/promote/shop/store', 'gitops-bg/promote-groups/shop/store')
    >>> promotion_branch(AppKey("shop", "store"), "prod")
    'gitops-bg/promote-in/prod/shop/store'
    >>> promotion_branch(EntryKey(AppKey("shop", "store"), "prod"))
    'gitops-bg/enter/prod/shop/store'
    """
    if isinstance(subject, EntryKey):
        return entry_branch(subject.environment, subject.app)
    prefix = GROUP_PROMOTION_PREFIX if isinstance(subject, GroupKey) else PROMOTION_PREFIX
    if environment and not isinstance(subject, GroupKey):
        prefix = f"{ENVIRONMENT_PROMOTION_PREFIX}{environment}/"
    return f"{prefix}{subject.namespace}/{subject.name}"


def asking_branch(subject: AppOrGroup, what: str) -> str:
    """Return a branch for one change that a person merges at the forge, because main takes it from nobody else.

    >>> asking_branch(AppKey("shop", "web"), "suspend"), asking_branch(GroupKey("shop", "web"), "suspend")
    ('gitops-bg/ask/shop/web/suspend', 'gitops-bg/ask-groups/shop/web/suspend')
    """
    prefix = "gitops-bg/ask-groups" if isinstance(subject, GroupKey) else "gitops-bg/ask"
    return f"{prefix}/{subject.namespace}/{subject.name}/{what}"


def entry_branch(environment: str, app: AppKey) -> str:
    """Return the one branch that asks for a release of an app in an environment.

    >>> entry_branch("prod", AppKey("shop", "web"))
    'gitops-bg/enter/prod/shop/web'
    """
    return f"{ENTRY_PREFIX}{environment}/{app.namespace}/{app.name}"


def fit(name: str) -> str:
    """Return ``name``, or, where it would exceed 63 characters, its start and a hash of the whole.

    >>> fit("web")
    'web'
    """
    if len(name) <= LONGEST_NAME:
        return name
    tail = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(tail) - 1].rstrip('-.')}-{tail}"


def replica_set_name(app: AppKey, number: int, digest: str) -> str:
    """Return the name that the ReplicaSet of a version is created with.

    One that exists keeps its name, whatever that is (`checks.versions.live_name`, `cluster.observation.views`).

    >>> replica_set_name(AppKey("shop", "web"), 5, "v1:3f9c0123456789")
    'web-v5-3f9c012345'
    """
    return _ending_in(app, f"-v{number}-{short(digest)}")


def short_digest_in(app: AppKey, name: str) -> str:
    """Return the short digest in the name of a ReplicaSet of the app; empty where the name has none.

    >>> short_digest_in(AppKey("shop", "web"), "web-v5-3f9c012345"), short_digest_in(AppKey("shop", "web"), "web")
    ('3f9c012345', '')
    """
    found = _END.search(name)
    if found is None:
        return ""
    made = replica_set_name(app, int(found["number"]), found["digest"])
    return found["digest"] if name == made else ""


def is_of_version(app: AppKey, digest: str, name: str) -> bool:
    """Return whether a name is that of a ReplicaSet of a version, or of its pods without the five random characters at
    the end.

    >>> [is_of_version(AppKey("shop", "web"), "v1:3f9c0123456789", f"web-v5-{end}") for end in ("3f9c012345-", "0")]
    [True, False]
    """
    return bool(digest) and short_digest_in(app, name.removesuffix("-")) == short(digest)


def _ending_in(app: AppKey, suffix: str) -> str:
    """Return the name of an app before a suffix; where both are too long, the app's is cut and hashed."""
    if len(app.name) + len(suffix) <= LONGEST_BEFORE_RANDOM:
        return app.name + suffix
    hashed = hashlib.sha256(app.name.encode()).hexdigest()[:8]
    room = LONGEST_BEFORE_RANDOM - len(suffix) - len(hashed) - 1
    return f"{app.name[:room].rstrip('-.')}-{hashed}{suffix}"


def configuration_name(app: AppKey, configuration: ConfigurationRef) -> str:
    """Return the name of the copy of a ConfigMap or Secret that pods use: different for each content, and for each app.

    >>> configuration_name(AppKey("shop", "web"), ConfigurationRef("ConfigMap", "web-settings", "v1:3f9c0123456789"))
    'web-settings-f9fb90edb8'
    """
    identity = "\0".join((configuration.kind, app.namespace, app.name, configuration.name, configuration.digest))
    tail = hashlib.sha256(identity.encode()).hexdigest()[:10]
    return f"{configuration.name[: LONGEST_NAME - len(tail) - 1].rstrip('-.')}-{tail}"


def job_name(subject: "AppOrGroup", measurement: "MeasurementId") -> str:
    """Return the name of the Job of a measurement: always the same, so that the Job is found again and never created
    twice.

    >>> from gitops_bg.core.model.analysis import AnalysisStage, MeasurementId
    >>> job_name(AppKey("shop", "web"), MeasurementId("e1", 3, AnalysisStage.PRE, 1, "Smoke test", 0, 1_767_225_600))
    'web-pre-smoke-test-fbab55953c'
    >>> once = MeasurementId("e1", 3, AnalysisStage.BEFORE_PODS, 2, "web-expand", 0, 0, "v1:3f9c")
    >>> job_name(AppKey("shop", "web"), once)
    'web-expand-3f9c-2'
    """
    if measurement.digest:
        return _job_of_version(subject, measurement)
    run = f"{measurement.epoch}.{measurement.begun}"
    identity = "\0".join((subject.namespace, subject.name, run, str(measurement)))
    tail = hashlib.sha256(identity.encode()).hexdigest()[:10]
    readable = re.sub("[^a-z0-9]+", "-", f"{subject.name}-{measurement.stage}-{measurement.metric}".lower())
    return f"{readable[: LONGEST_NAME - len(tail) - 1].strip('-')}-{tail}"


def _job_of_version(subject: "AppOrGroup", measurement: "MeasurementId") -> str:
    """Return the name of a Job that runs once for a version: nothing in it depends on the record, which may be lost."""
    again = f"-{measurement.attempt}" if measurement.attempt > 1 else ""
    tail = f"-{short(measurement.digest)}{again}"
    of_subject = measurement.metric == subject.name or measurement.metric.startswith(f"{subject.name}-")
    name = measurement.metric if of_subject else f"{subject.name}-{measurement.metric}"
    if len(name) + len(tail) <= LONGEST_NAME:
        return name + tail
    hashed = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(tail) - len(hashed) - 1].rstrip('-.')}-{hashed}{tail}"


def page_url(dashboard: str, subject: AppOrGroup) -> str:
    """Return the page of an app or a release group on the dashboard; empty where that has no address that others reach.

    >>> page_url("https://bg.example.com", AppKey("shop", "web")), page_url("", AppKey("shop", "web"))
    ('https://bg.example.com/apps/shop/web', '')
    """
    return f"{dashboard.rstrip('/')}/{subject.kind}s/{subject.namespace}/{subject.name}" if dashboard else ""


CANDIDATE_ROUTE = ".preview"
"""What the name of the route for the hosts of a candidate ends with: no app has a dot in its name."""


def candidate_route(app: AppKey) -> str:
    """Return the name of the route for the hosts of an app's candidate."""
    return f"{app.name}{CANDIDATE_ROUTE}"


def app_label(app: AppKey) -> str:
    """Return the value of the ``gitops-bg.dev/app`` label."""
    return fit(app.name)


def selector(app: AppKey, digest: str) -> dict[str, str]:
    """Return the labels by which a Service or ReplicaSet selects the pods of one version."""
    return {APP: app_label(app), DIGEST: short(digest)}
