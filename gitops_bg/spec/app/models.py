"""The schemas of app.yaml, primary.yaml and gitops-bg.yaml, with Argo Rollouts' names and defaults.

Decides nothing and knows no places: `validation` turns its errors into Problems, `to_core` its data into core types.
The CustomResourceDefinition is generated from here (`crd`), so descriptions are for users.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gitops_bg.core.written import Conflict, Count, Digest, DnsLabel, Matching, Positive, ServiceName, Text
from gitops_bg.spec.analysis.block import Analysis, FlaggerAnalysis
from gitops_bg.spec.app.fields import Delay, Model, Moment, Revision, Share, TargetFile
from gitops_bg.spec.app.gateway import Routes
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE
from gitops_bg.spec.app.render import Render
from gitops_bg.spec.manifests.autoscaling import AutoscalerRef
from gitops_bg.spec.notifications import Alert, Webhook, check_alert_names, check_names


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


class AntiAffinity(Model):
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


class PodMetadata(Model):
    """Labels and annotations that pods carry while their version has a role."""

    labels: dict[str, str] | None = Field(None, description="Labels; none of the target's selector.")
    annotations: dict[str, str] | None = Field(None, description="Annotations.")


class BlueGreen(Model):
    """How traffic is switched; the fields of Argo Rollouts, with their names and defaults."""

    active_service: ServiceName | None = Field(
        None, description="The Service that carries live traffic. Required, unless activeServices names several."
    )
    active_services: Annotated[list[ServiceName], Field(min_length=1)] | None = Field(
        None,
        description="Instead of activeService: the Services that carry live traffic, switched together by one "
        "decision. A switch has happened when all of them have moved.",
    )
    preview_service: ServiceName | None = Field(
        None,
        description="The Service that reaches the candidate before it is live. Without a manifest in the folder it has "
        "the ports of the active one.",
    )
    routes: Routes | None = Field(
        None,
        description="A route of the Gateway API in front of the Services: requests reach the live version, and those "
        "with its version header the candidate, by the preview Service.",
    )
    preview_replica_count: Count | None = Field(
        None, description="Replicas of the candidate until it is promoted; all of them where absent."
    )
    preview_switch: Literal["onReady", "immediate"] = Field(
        "onReady", description="When the preview Service moves to a new candidate: once it is ready, or at once."
    )
    auto_promotion_enabled: bool = Field(
        False, description="Promote without waiting for anybody. Default false: nothing goes live unasked."
    )
    auto_promotion_seconds: Count = Field(
        0,
        description="Seconds to wait before an automatic promotion, once every other gate is open. "
        "Without autoPromotionEnabled: true it does nothing.",
    )
    scale_down_delay_seconds: Delay = Field(
        600, description='How long the old version stays warm after a switch: seconds, or "never". Default 600.'
    )
    scale_down_delay_revision_limit: Count | None = Field(
        None, description="How many old versions may stay warm; any number where absent."
    )
    abort_scale_down_delay_seconds: Delay = Field(
        30,
        description="How long a candidate keeps its pods after it was aborted, superseded or cancelled: seconds, or, "
        'of an aborted one, "never". Default 30; 0 is at once. Where a newer one waits for room, all go at once.',
    )

    expire_after_seconds: Positive | None = Field(
        None,
        description="Seconds that a candidate, from when its pods are available, waits for somebody to promote it; "
        "for ever where absent.",
    )
    on_expire: Literal["abort", "promote"] | None = Field(
        None,
        description="What becomes of a candidate that nobody promoted within expireAfterSeconds: it is put on hold, or "
        "promoted by the agent once every other gate is open. Default abort.",
    )

    drain_seconds: Count = Field(
        0,
        description="Seconds that the old version keeps its pods, whatever its delay, after the EndpointSlices of the "
        "active Service hold exactly the new ones.",
    )
    anti_affinity: AntiAffinity | None = Field(
        None,
        description="Keeps the pods of a new version off the nodes that the live version runs on. Written into its "
        "ReplicaSet when that is created; no part of the version.",
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

    active_metadata: PodMetadata | None = Field(
        None,
        description="Labels and annotations that the pods of the live version carry beside those of its template; "
        "changed in place, without a restart. No part of the version.",
    )
    max_unavailable: Share = Field(
        "25%",
        description="How many pods of a version may be missing while restartAt restarts it: a number, or a percentage "
        "rounded down; at least one.",
    )
    preview_metadata: PodMetadata | None = Field(
        None, description="The same for the pods of a candidate, until it is live; then those of activeMetadata."
    )

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.expire_after_seconds is None and self.on_expire:
            raise Conflict("onExpire", "means nothing without expireAfterSeconds", "add it, or remove onExpire")
        seconds = self.auto_promotion_seconds if self.auto_promotion_enabled else 0
        if self.expire_after_seconds is not None and self.expire_after_seconds <= seconds:
            message = f"{self.expire_after_seconds} is not more than autoPromotionSeconds, so nothing would be promoted"
            raise Conflict("expireAfterSeconds", message, f"set it above {seconds}")
        return self

    @model_validator(mode="after")
    def _services_fit(self) -> Self:
        if self.active_service and self.active_services:
            remedy = "keep one of the two"
            raise Conflict("activeServices", "means the same as activeService, which is there, too", remedy)
        if not self.active_service and not self.active_services:
            remedy = "add activeService; a worker without traffic needs a Service, too, which may be headless"
            raise Conflict("activeService", "is required: it says which version is live", remedy)
        if self.preview_service in self.live_services:
            field = "activeServices" if self.active_services else "activeService"
            raise Conflict("previewService", f"must be another Service than {field}", "name a second Service")
        for place, name in enumerate(self.live_services):
            if name in self.live_services[:place]:
                raise Conflict(f"activeServices.{place}", f"{name} is named twice", "remove one of the two")
        return self

    @property
    def live_services(self) -> tuple[str, ...]:
        """Every Service that carries live traffic, whichever field names it."""
        return tuple(self.active_services or filter(None, [self.active_service]))


class Strategy(Model):
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


class RollbackWindow(Model):
    """How old a version may be to return without the gates of a promotion."""

    revisions: Count = Field(description="How many versions may have served between it and the live one.")


class Suspend(Model):
    """Stops everything except rollbacks, until it is removed or its time is over."""

    reason: Text = Field(description="Why; shown wherever the app is shown.")
    by: str = Field("", description="Who.")
    until: Moment | None = Field(None, description="When it ends by itself, RFC 3339; never where absent.")


class Adopt(Model):
    """Agrees that the agent takes over what serves the app now. Written by `gitops-bg adopt`."""

    deployment: DnsLabel | None = Field(
        None, description="The Deployment, in the namespace of the app, whose pods serve now."
    )
    app: DnsLabel | None = Field(
        None,
        description="The app of this namespace that serves now, and that this one is under a new name. Once its folder "
        "is gone and its Services are taken over, it goes. Written by `gitops-bg move`; instead of deployment.",
    )
    scale_down: Literal["never", "onSuccess", "progressively"] = Field(
        "never",
        description="What becomes of its pods after the Services were handed over: never: they stay. onSuccess: they "
        "go once the app is healthy and scaleDownDelaySeconds have passed. progressively: they go as soon as no "
        "request reaches them, as many as there are available pods of the app.",
    )

    @model_validator(mode="after")
    def _from_one(self) -> Self:
        if (self.deployment is None) is (self.app is None):
            raise Conflict("", "is from a Deployment or from an app", "write one of deployment and app")
        return self


class Release(Model):
    """Gives live traffic back to the Deployment that the app was adopted from. Written by `gitops-bg release`."""

    deployment: DnsLabel = Field(description="The Deployment, in the namespace of the app, whose pods are to serve.")


class Retry(Model):
    """Asks for a new rollout of one digest, in spite of any hold. Written by `gitops-bg retry`."""

    digest: Digest = Field(description="The digest to try again.")
    number: Positive = Field(description="Counts the retries; each number is carried out once.")
    by: str = Field("", description="Who.")
    after: Count = Field(
        0,
        description="The last ledger entry its author had seen: it lifts a hold that was put until then, also where "
        "nobody has looked at main since.",
    )


class AppSpec(Model):
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
    strategy: Strategy
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
    suspend: Suspend | None = None
    retry: Retry | None = None
    revision: Revision | None = Field(
        None,
        description="The version to run instead of the target, until this is removed: its number, its digest, "
        "or a full commit id of main, for what the target was there. One that nobody knows changes nothing.",
    )
    adopt: Adopt | None = Field(
        None,
        description="The agent takes the app's Services over from a live Deployment, once, when its own pods are "
        "ready. Until then its pods get a stand-in for a label by which these Services choose their pods.",
    )
    release: Release | None = Field(
        None,
        description="The way back: the Deployment is scaled up, the Services get back what they had before they were "
        "taken over, and then the app's pods go. Nothing is promoted meanwhile, nor afterwards.",
    )

    @property
    def alerts(self) -> list[Alert] | None:
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
        if self.deletion_policy == "revertToTarget" and (self.adopt is None or self.adopt.deployment is None):
            raise Conflict(
                "deletionPolicy",
                "revertToTarget gives live traffic back to what the app was adopted from, and nothing says from what",
                "write adopt: {deployment: NAME}, or another policy",
            )

    def _check_limits(self) -> None:
        limit = self.strategy.blue_green.scale_down_delay_revision_limit
        if limit is not None and limit > self.revision_history_limit:
            raise Conflict(
                "strategy.blueGreen.scaleDownDelayRevisionLimit",
                f"{limit} is more than revisionHistoryLimit ({self.revision_history_limit})",
                "lower it, or raise revisionHistoryLimit",
            )

    def _check_promotion(self) -> None:
        blue_green = self.strategy.blue_green
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
    spec: AppSpec


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


class Primary(Model):
    """``primary.yaml``: the promoted snapshot, written by a promotion or a rollback."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["Primary"]
    metadata: Metadata
    version: Positive
    digest: Digest
    source: Origin
    workload: Literal["ReplicaSet", "DaemonSet"] | None = None
    template: Annotated[dict[str, Any], Field(min_length=1)]
    services: dict[str, PrimaryService] | None = None
    configuration: list[PrimaryConfiguration] | None = None


class Author(Model):
    """The author of the agent's commits."""

    name: Text = "gitops-bg"
    email: Text = "gitops-bg@localhost"


class ForgeSettings(Model):
    """``forge:`` of gitops-bg.yaml: promotion branches get pull requests. Every field is optional."""

    type: Literal["github", "gitlab", "gitea", "forgejo"] | None = Field(
        None, description="Which forge. Default: what the repository's URL says, else what the server answers."
    )
    url: Text | None = Field(
        None,
        description="The forge's address (`https://git.example.com`, with the folder it lives in), or the repository's "
        "on it. Default: what the repository's URL says.",
    )
    labels: list[Text] = Field(default_factory=list, description="Labels that each pull request gets.")
    reviewers: list[Text] = Field(
        default_factory=list, description="Who is asked to review it: logins, or team:NAME for a team."
    )
    assignees: list[Text] = Field(default_factory=list, description="To whom it is assigned.")
    comment: bool = Field(
        False, description="Keep one comment up to date with the status, for those who want a notification."
    )
    max_open_pull_requests: Annotated[int, Field(ge=1, le=10_000)] = Field(
        50, description="How many may be open at a time, the oldest first; the rest stays a branch that can be merged."
    )


class Settings(Model):
    """``gitops-bg.yaml``: settings for the whole repository. Every field is optional."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["Settings"]
    history_generation: Annotated[int, Field(ge=0)] = Field(
        0,
        description="The generation of main's history. A greater one accepts a history that was rewritten: "
        "`gitops-bg accept-history`.",
    )
    accepted_history: (
        Annotated[str, Matching(r"[0-9a-f]{40}([0-9a-f]{24})?", "use a full commit id: 40 or 64 hexadecimal digits")]
        | None
    ) = Field(None, description="Means nothing any more: `historyGeneration` took its place.")
    max_deleted_apps_percent: Annotated[int, Field(ge=0, le=100)] = Field(
        20, description="Nothing is deleted when one commit removes more than this share of all apps, in percent."
    )
    commit_author: Author = Field(default_factory=Author)
    require: list[DnsLabel] | None = Field(
        None,
        description="Policies without which nothing is promoted that they would be for: where one is missing or "
        "broken, it is shut.",
    )
    forge: ForgeSettings | None = Field(
        None, description="Open a pull request for each promotion branch. Without it a promotion is a branch only."
    )
    alerts: list[Alert] | None = Field(
        None, description="Who is told what happens to every app that has no spec.analysis.alerts of its own."
    )

    @model_validator(mode="after")
    def _has_names(self) -> Self:
        check_alert_names(self.alerts or ())
        return self
