"""The schemas of app.yaml and primary.yaml, with Argo Rollouts' names and defaults.

Decides nothing and knows no places: `validation` turns its errors into Problems, `to_core` its data into core types.
The CustomResourceDefinition is generated from here (`crd`), so descriptions are for users.
"""

import re
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_bg.core.model.spec import Adoption, AntiAffinity, Release, Retry, Revision, Strategy, Suspension
from gitops_bg.core.written import Conflict, Count, Digest, DnsLabel, Positive, ServiceName, Text
from gitops_bg.spec.analysis.block import Analysis, FlaggerAnalysis
from gitops_bg.spec.app.fields import Files, Model, Moment, Routes, TargetFile
from gitops_bg.spec.app.layout import APPS_FOLDER, DEFAULT_TARGET_FILE, GROUPS_FOLDER
from gitops_bg.spec.declared import Declared, DeclaredModel, extends
from gitops_bg.spec.manifests.autoscaling import AutoscalerRef
from gitops_bg.spec.notifications import AlertEntry, Webhook, check_names

_PART = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@+-]*")


def _in_repository(path: str) -> str:
    """Check a path: it names a file or folder of the repository, and is no option of a command."""
    parts = path.split("/")
    if not all(_PART.fullmatch(part) and part not in (".", "..") for part in parts):
        raise Conflict("", f"{path!r} is no path of the repository", "write it from the repository's root: web/overlay")
    if parts[0] in (APPS_FOLDER, GROUPS_FOLDER):
        message = f"lies in {parts[0]}/, where every file is a manifest that the agent reads"
        raise Conflict("", message, "move it elsewhere in the repository")
    return path


RepositoryPath = Annotated[str, AfterValidator(_in_repository)]
"""A path from the root of the repository, with slashes."""


class HelmChart(Model):
    """A chart of the repository."""

    chart: RepositoryPath = Field(description="The chart's folder or archive, from the repository's root.")
    values: list[RepositoryPath] = Field(
        default_factory=list, description="Files of values, from the repository's root; later ones count more."
    )
    release: DnsLabel | None = Field(None, description="The name of the release; the app's where absent.")


class Render(Model):
    """What the target is rendered from: exactly one of these."""

    kustomize: RepositoryPath | None = Field(
        None, description="The folder of a kustomization.yaml, from the repository's root."
    )
    helm: HelmChart | None = Field(None, description="A Helm chart, and its values.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.kustomize is None) == (self.helm is None):
            raise Conflict("", "must have exactly one of kustomize and helm", "write kustomize: web/overlay")
        return self

    @property
    def source(self) -> str:
        """What it is rendered from, in words."""
        return f"the chart {self.helm.chart}" if self.helm else f"the kustomization {self.kustomize}"


class Metadata(Model):
    """The identity of the object; both must be those of the folder, ``apps/<namespace>/<name>/``."""

    name: DnsLabel
    namespace: DnsLabel
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Required(Model):
    """No further fields."""


class Preferred(Model):
    """How much the preference counts when a node is chosen."""

    weight: Annotated[int, Field(ge=1, le=100)] = Field(description="From 1 to 100.")


class AntiAffinityEntry(Model):
    """Exactly one of the two."""

    required: Required | None = Field(None, description="New pods never share a node with live ones. Write {}.")
    preferred: Preferred | None = Field(None, description="New pods avoid nodes that live ones run on.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.required is None) == (self.preferred is None):
            raise Conflict(
                "", "must have exactly one of required and preferred", "write required: {}, or preferred: {weight: 100}"
            )
        return self


def _full_digests(held: dict[str, str]) -> dict[str, str]:
    """Check the releases on hold: anything but a full digest would hold nothing, and nobody would see that."""
    for digest in held:
        if not re.fullmatch(r"r1:[0-9a-f]{64}", digest):
            remedy = "write r1: and 64 hexadecimal digits; `gitops-bg hold APP --release r12 --everywhere` writes it"
            raise Conflict("", f"{digest!r} is no full digest of a release", remedy)
    return held


def _covers(host: str, other: str) -> bool:
    """Return whether a host of a route, which may be a wildcard, has the requests of another one."""
    return host == other or (host.startswith("*.") and other.endswith(host[1:]))


def _anti_affinity(entry: AntiAffinityEntry) -> AntiAffinity:
    return AntiAffinity(entry.preferred.weight if entry.preferred else None)


@extends(Strategy)
class BlueGreen(DeclaredModel):
    """How traffic is switched; the fields of Argo Rollouts, with their names and defaults."""

    active_service: ServiceName | None = Field(
        None, description="The Service that carries live traffic. Required, unless activeServices names several."
    )
    active_services: Annotated[list[ServiceName], Field(min_length=1)] | None = Field(
        None,
        description="Instead of activeService: the Services that carry live traffic, switched together by one "
        "decision. A switch has happened when all of them have moved.",
    )
    routes: Routes | None = Field(
        None,
        description="A route of the Gateway API in front of the Services: requests reach the live version, and those "
        "with its version header the candidate, by the preview Service.",
    )
    pre_promotion_analysis: Analysis | None = Field(
        None, description="What must be good before traffic moves; begins when the pods of the new version are up."
    )
    post_promotion_analysis: Analysis | None = Field(
        None, description="What must be good once traffic has moved; until then the old version keeps its pods."
    )
    webhooks: list[Webhook] | None = Field(
        None, description="Hooks with the fields of Flagger's analysis.webhooks; those without a url are manual gates."
    )
    anti_affinity: Annotated[AntiAffinityEntry, AfterValidator(_anti_affinity)] | None = None

    @model_validator(mode="after")
    def _services_fit(self) -> Self:
        if self.active_service and self.active_services:
            remedy = "keep one of the two"
            raise Conflict("activeServices", "means the same as activeService, which is there, too", remedy)
        if not self.active_service and not self.active_services:
            remedy = "add activeService; a worker without traffic needs a Service, too, which may be headless"
            raise Conflict("activeService", "is required: it says which version is live", remedy)
        if self.strategy.preview_service in self.live_services:
            field = "activeServices" if self.active_services else "activeService"
            raise Conflict("previewService", f"must be another Service than {field}", "name a second Service")
        self._check_preview_hosts()
        for place, name in enumerate(self.live_services):
            if name in self.live_services[:place]:
                raise Conflict(f"activeServices.{place}", f"{name} is named twice", "remove one of the two")
        return self

    def _check_preview_hosts(self) -> None:
        for place, host in enumerate(self.strategy.preview_hosts):
            if self.routes is None:
                remedy = "add routes: {parentRefs: [{name: public}]}, with the name of the Gateway"
                raise Conflict("previewHosts", "are behind the Gateways of routes, and there are none", remedy)
            if self.routes.hosts is None:
                message = "lead to the live version once their candidate is gone: without routes.hosts every host does"
                raise Conflict("previewHosts", message, "add the hosts of the live version: routes: {hosts: […]}")
            if by := next((each for each in self.routes.hosts if _covers(each, host)), None):
                message = f"{host} leads to the live version, too, by {by} of routes.hosts"
                raise Conflict(f"previewHosts.{place}", message, "write a host that routes.hosts does not have")

    @property
    def live_services(self) -> tuple[str, ...]:
        """Every Service that carries live traffic, whichever field names it."""
        return tuple(self.active_services or filter(None, [self.active_service]))

    @cached_property
    def strategy(self) -> Strategy:
        """What is declared in the core; what the templates of its analyses ask, and its hooks, are added later."""
        first, *more = self.live_services
        strategy: Strategy = self.value(active_service=first, more_active_services=tuple(more))
        return strategy


class StrategyFields(Model):
    """The strategy; blue-green is the only one."""

    blue_green: BlueGreen


class Promotion(Model):
    """How a promotion gets into main."""

    via: Literal["pullRequest", "commit"] | None = Field(
        None,
        description="pullRequest: a promotion branch that somebody merges; commit: the agent pushes it itself. "
        "Default pullRequest where autoPromotionEnabled is false, else commit.",
    )
    merge: Literal["person", "whenGreen"] = Field(
        "person",
        description="Who merges the pull request. whenGreen: the agent, as soon as every gate is open and the forge "
        "takes it; needs forge in gitops-bg.yaml.",
    )


class JobsFields(Model):
    """Jobs of the app's folder, each run once for each version."""

    before_pods: Files | None = Field(
        None,
        description="Files of the app's folder with a Job each, which must be complete before a new version gets its "
        "first pod. A container without an image has that of the target. Not for the way back.",
    )
    after_settled: Files | None = Field(
        None,
        description="Files with a Job each, which run once for each version that serves, when it has proven itself and "
        "no older version has pods. From then on no older version comes back, but by force.",
    )


class RollbackWindow(Model):
    """How old a version may be to return without the gates of a promotion."""

    revisions: Count = Field(description="How many versions may have served between it and the live one.")


class AppFields(Model):
    """The spec of a BlueGreenDeployment."""

    target: TargetFile = Field(
        DEFAULT_TARGET_FILE,
        description="The file in the app's folder that holds the workload to run: a Deployment, or anything "
        "else with a pod template that runs on (ReplicaSet, DaemonSet, PodTemplate, Rollout of Argo, PodSpecWorkload "
        "of OAM).",
    )
    render: Render | None = Field(
        None,
        description="What the target is rendered from, by `gitops-bg render`: the agent reads what was rendered, and "
        "never renders.",
    )
    strategy: StrategyFields
    min_ready_seconds: Count | None = Field(
        None, description="Seconds a new pod must be ready to count as available. Default: the target's, else 0."
    )
    progress_deadline_seconds: Count = Field(
        600,
        description="Seconds without progress after which a rollout has failed. After the switch: pods that were "
        "missing for so long have traffic go back, until the version has served for so long without a break.",
    )
    progress_deadline_abort: bool = Field(
        False,
        description="Abort a rollout that has failed so: its version is put on hold. Holds at once for one that failed "
        "before; never for the way back, nor for the first deployment.",
    )
    revision_history_limit: Count = Field(10, description="How many archived versions keep their ReplicaSet.")
    rollback_window: RollbackWindow | None = None
    promotion: Promotion | None = None
    jobs: JobsFields | None = None
    analysis: FlaggerAnalysis | None = Field(
        None,
        description="How many analysis runs are remembered; and Flagger's analysis: prePromotionAnalysis in other "
        "words. Only one of the two may be there.",
    )
    deletion_policy: Literal["keep", "delete", "orphan", "revertToTarget"] = Field(
        "keep",
        description="When the app's folder leaves main: keep: serve on. delete: all that the agent made goes. orphan: "
        "all stays as it is, and is nobody's. revertToTarget: live traffic goes back to the Deployment of adopt, as by "
        "release, and then the versions go; Flagger's revertOnDeletion.",
    )
    autoscaler_ref: AutoscalerRef | None = Field(
        None,
        description="Which autoscaler of the folder sizes the live version, and what is different in the copy that is "
        "made of it. Where absent: the one that is in the folder, as it is. The fields are Flagger's.",
    )
    restart_at: Moment | None = Field(
        None,
        description="Pods older than this time, RFC 3339, are restarted, as PodDisruptionBudgets allow; a time to come "
        "is waited for. A new rollout cancels it. Written by `gitops-bg restart`.",
    )
    held_releases: Annotated[dict[str, str], AfterValidator(_full_digests)] | None = Field(
        None,
        description="Releases that come into no further environment, by their full digests, each with why; where one "
        "serves, it stays. Written by `gitops-bg hold`.",
    )
    suspend: Declared[Suspension] | None = None
    retry: Declared[Retry] | None = None
    revision: Declared[Revision] | None = Field(
        None,
        description="The version to run instead of the target, until this is removed: its number, its digest, "
        "or a full commit id of main, for what the target was there. One that nobody knows changes nothing.",
    )
    adopt: Declared[Adoption] | None = Field(
        None,
        description="The agent takes the app's Services over from a live Deployment, once, when its own pods are "
        "ready. Until then its pods get a stand-in for a label by which these Services choose their pods.",
    )
    release: Declared[Release] | None = Field(
        None,
        description="The way back: the Deployment is scaled up, the Services get back what they had before they were "
        "taken over, and then the app's pods go. Nothing is promoted meanwhile, nor afterwards.",
    )

    @property
    def alerts(self) -> list[AlertEntry] | None:
        """The app's own alerts, where it has any."""
        return self.analysis.alerts if self.analysis else None

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        self._check_deadline()
        self._check_deletion()
        self._check_limits()
        self._check_promotion()
        self._check_analysis()
        self._check_hooks()
        return self

    def _check_deadline(self) -> None:
        if self.progress_deadline_seconds <= (self.min_ready_seconds or 0):
            raise Conflict(
                "progressDeadlineSeconds",
                f"{self.progress_deadline_seconds} is not more than minReadySeconds, so no rollout could succeed",
                f"set it above {self.min_ready_seconds or 0}",
            )

    def _check_deletion(self) -> None:
        if self.deletion_policy == "revertToTarget" and (self.adopt is None or not self.adopt.deployment):
            raise Conflict(
                "deletionPolicy",
                "revertToTarget gives live traffic back to what the app was adopted from, and nothing says from what",
                "write adopt: {deployment: NAME}, or another policy",
            )

    def _check_limits(self) -> None:
        limit = self.strategy.blue_green.strategy.scale_down_delay_revision_limit
        if limit is not None and limit > self.revision_history_limit:
            raise Conflict(
                "strategy.blueGreen.scaleDownDelayRevisionLimit",
                f"{limit} is more than revisionHistoryLimit ({self.revision_history_limit})",
                "lower it, or raise revisionHistoryLimit",
            )

    def _check_promotion(self) -> None:
        blue_green = self.strategy.blue_green.strategy
        if self.promotion is not None and self.promotion.merge == "whenGreen" and self.promotion.via == "commit":
            said = "whenGreen merges a pull request, but via is commit"
            raise Conflict("promotion.merge", said, "set via: pullRequest, or drop it")
        if blue_green.auto_promotion_enabled and self.promotion is not None and self.promotion.via == "pullRequest":
            raise Conflict(
                "promotion.via",
                "pullRequest waits for a merge, but autoPromotionEnabled is true",
                "set strategy.blueGreen.autoPromotionEnabled: false, or via: commit",
            )

    def _check_analysis(self) -> None:
        flagger = self.analysis and self.analysis.speaks_of_measuring
        if flagger and self.strategy.blue_green.pre_promotion_analysis:
            remedy = "keep one of the two"
            raise Conflict("analysis", "says the same as strategy.blueGreen.prePromotionAnalysis", remedy)

    def _check_hooks(self) -> None:
        own = self.strategy.blue_green.webhooks or []
        check_names("strategy.blueGreen.webhooks", own)
        if self.analysis:
            check_names("analysis.webhooks", self.analysis.webhooks or [], beside=own)


class BlueGreenDeployment(Model):
    """``app.yaml``: one app."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["BlueGreenDeployment"]
    metadata: Metadata
    spec: AppFields


class Origin(Model):
    """The commit that brought a template."""

    commit: Text
    author: str = ""
    date: Moment | None = None


class PrimaryConfiguration(Model):
    """One ConfigMap or Secret of the promoted version, with its whole content."""

    kind: Literal["ConfigMap", "Secret"]
    name: Text
    type: Text | None = None
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class PrimaryService(Model):
    """The ports of one Service as live traffic uses them, as in its manifest."""

    ports: Annotated[list[dict[str, Any]], Field(min_length=1)]


class PrimaryRelease(Model):
    """The release that a version is of."""

    number: Count
    digest: Digest
    commit: str = ""


class PrimaryDocument(Model):
    """``primary.yaml``: the promoted snapshot, written by a promotion or a rollback."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["Primary"]
    metadata: Metadata
    version: Positive
    digest: Digest
    source: Origin
    release: PrimaryRelease | None = None
    workload: Literal["ReplicaSet", "DaemonSet"] | None = None
    template: Annotated[dict[str, Any], Field(min_length=1)]
    services: dict[str, PrimaryService] | None = None
    configuration: list[PrimaryConfiguration] | None = None
