"""The schemas of app.yaml, primary.yaml and gitops-bg.yaml, with Argo Rollouts' names and defaults.

Decides nothing and knows no places: `validation` turns its errors into Problems, `to_core` its data into core types.
The CustomResourceDefinition is generated from here (`crd`), so descriptions are for users.
"""

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gitops_bg.core.model.spec import Adoption, AntiAffinity, Release, Retry, Revision, Strategy, Suspension
from gitops_bg.core.written import Conflict, Count, Digest, DnsLabel, Matching, Positive, ServiceName, Text
from gitops_bg.spec.analysis.block import Analysis, FlaggerAnalysis
from gitops_bg.spec.app.fields import Model, Moment, TargetFile
from gitops_bg.spec.app.gateway import Routes
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE
from gitops_bg.spec.app.render import Render
from gitops_bg.spec.declared import WRITTEN, Declared, DeclaredModel, Form, extends
from gitops_bg.spec.manifests.autoscaling import AutoscalerRef
from gitops_bg.spec.notifications import AlertEntry, Webhook, check_alert_names, check_names


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


WRITTEN |= {
    AntiAffinity: Form(AntiAffinityEntry, lambda entry: AntiAffinity(entry.preferred and entry.preferred.weight)),
}


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
        for place, name in enumerate(self.live_services):
            if name in self.live_services[:place]:
                raise Conflict(f"activeServices.{place}", f"{name} is named twice", "remove one of the two")
        return self

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


class PrimaryDocument(Model):
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
    alerts: list[AlertEntry] | None = Field(
        None, description="Who is told what happens to every app that has no spec.analysis.alerts of its own."
    )

    @model_validator(mode="after")
    def _has_names(self) -> Self:
        check_alert_names(self.alerts or ())
        return self
