"""The schemas of group.yaml, version.yaml and routes.yaml, with the Gateway API's names.

Knows no places: `validation` turns its errors into Problems. The CustomResourceDefinition of ReleaseGroup is generated
from here (`crd`), so descriptions are for users.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_bg.core.groups.inputs import GroupSpec
from gitops_bg.core.groups.model import VERSION
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.written import Conflict, DnsLabel, Matching, ServiceName
from gitops_bg.spec.analysis.block import Analysis
from gitops_bg.spec.app.fields import HeaderName, Host, Hosts, Model, ParentRefs
from gitops_bg.spec.declared import DeclaredModel, extends
from gitops_bg.spec.expressions import BadExpression, compile_pattern
from gitops_bg.spec.notifications import Webhook, check_names

# As the schema of HTTPRoute has them: https://gateway-api.sigs.k8s.io/reference/spec/#httppathmatch
_PATH = re.compile(r"/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*")
_NOT_IN_A_PATH = re.compile(r"//|/\.\.?/|/\.\.?\Z|%2f", re.IGNORECASE)
_DURATION = r"([0-9]{1,5}(h|m|s|ms)){1,4}"
_MOST_HEADERS = 15
"""The schema of HTTPRoute takes 16, and one is the version's."""


def _path(text: str) -> str:
    if not _PATH.fullmatch(text) or _NOT_IN_A_PATH.search(text) or len(text) > 1024:
        remedy = "write one such as /cart: it begins with a slash, and has no query, no // and no .."
        raise Conflict("", f"{text!r} is no path", remedy)
    return text


def _expression(text: str) -> str:
    """Return an expression that Gateways read, in RE2's syntax: no group that looks ahead or behind, no reference to
    a group.
    """
    try:
        compile_pattern(text)
    except BadExpression as error:
        raise Conflict("", str(error), "mend it; a \\ before a sign takes it as it is") from error
    return text


UrlPath = Annotated[str, AfterValidator(_path)]
Expression = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_expression)]
HeaderValue = Annotated[str, Field(min_length=1, max_length=4096)]
Duration = Annotated[str, Matching(_DURATION, "write a time such as 10s, 500ms or 1m30s")]


class GroupMetadata(Model):
    """The identity of the object; both must be those of the folder, ``groups/<namespace>/<name>/``."""

    name: DnsLabel
    namespace: DnsLabel
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Gateway(Model):
    """Where requests from outside come in."""

    parent_refs: ParentRefs = Field(description="The Gateways that the group's HTTPRoutes are attached to.")


class DenyServiceRef(Model):
    """A Service in the group's namespace that answers 404 to everything (``deploy/deny-service.yaml``)."""

    name: ServiceName = Field("gitops-bg-deny", description="Its name.")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(80, description="Its port.")


class DenyExtension(Model):
    """An object of the Gateway's implementation that answers by itself, such as HTTPRouteFilter of Envoy Gateway."""

    group: str = Field(description="The API group of the object.")
    kind: Annotated[str, Field(min_length=1)] = Field(description="The kind of the object.")
    name: DnsLabel = Field(description="The name of the object, in the group's namespace.")


class GroupWebhook(Webhook):
    """A hook of a group: that of an app, but for what only an app can do."""

    @model_validator(mode="after")
    def _is_of_a_group(self) -> Self:
        if self.type == "confirm-rollout":
            remedy = "name it in the app.yaml of the services whose pods it lets begin"
            raise Conflict("type", "confirm-rollout means nothing for a group, which has no pods of its own", remedy)
        return self


@extends(Retry)
class GroupRetry(DeclaredModel):
    """Asks for a version once more, in spite of any hold. Written by `gitops-bg retry`."""

    digest: Annotated[str, Matching(f"{VERSION}-[0-9a-f]{{20}}", "let gitops-bg retry write it")] = Field(
        description="The version to try again, with the content of its folder."
    )


@extends(GroupSpec)
class GroupFields(DeclaredModel):
    """The spec of a ReleaseGroup."""

    version_header: HeaderName = Field(
        "X-Version", description="The request header that chooses a version; any other value means the active one."
    )
    gateway: Gateway | None = Field(
        None, description="Where requests come in. Without it only the Services follow the active version."
    )
    hosts: Hosts | None = Field(
        None, description="The hosts of all routes that name none of their own; every host of the Gateway where absent."
    )
    deny_mode: Literal["denyService", "extension", "noBackend"] = Field(
        "denyService",
        description="What becomes of a request that the version named in its header must not answer: it is sent to a "
        "Service that answers 404, answered by an object of the Gateway's implementation, or has no backend (500).",
    )
    deny_service: DenyServiceRef | None = Field(None, description="The Service of denyMode denyService.")
    deny_extension: DenyExtension | None = Field(None, description="The object of denyMode extension.")
    deletion_policy: Literal["keep", "delete"] = Field(
        "keep",
        description="What becomes of the group when its folder leaves main: it serves on as it is, or its routes, its "
        "Services and all its versions are deleted. It must be in main before the folder goes.",
    )
    retry: Annotated[GroupRetry, AfterValidator(GroupRetry.value)] | None = Field(
        None, description="Has a version tried again with fresh checks, whatever held or paused it: `gitops-bg retry`."
    )
    pre_promotion_analysis: Analysis | None = Field(
        None,
        description="What must be good before the group is promoted: measured once every service of the version is "
        "healthy. A template may declare the args group, namespace, version and formerVersion without a value.",
    )
    post_promotion_analysis: Analysis | None = Field(
        None,
        description="What must be good once traffic has moved. Until then nothing else is promoted; where it fails, "
        "the group goes back to the version before.",
    )
    webhooks: list[GroupWebhook] | None = Field(
        None, description="Hooks that are asked about a promotion of the group, or told of what happens to it."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.deny_mode == "extension" and self.deny_extension is None:
            raise Conflict("denyMode", "extension needs the object that answers", "add denyExtension")
        if self.deny_extension is not None and self.deny_mode != "extension":
            raise Conflict("denyExtension", f"means nothing with denyMode {self.deny_mode}", "remove it")
        if self.deny_service is not None and self.deny_mode != "denyService":
            raise Conflict("denyService", f"means nothing with denyMode {self.deny_mode}", "remove it")
        for place, host in enumerate(self.hosts or ()):
            if host in (self.hosts or ())[:place]:
                raise Conflict(f"hosts.{place}", f"{host} is named twice", "remove one of the two")
        check_names("webhooks", self.webhooks or ())
        return self


class ReleaseGroup(Model):
    """``group.yaml``: one release group."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["ReleaseGroup"]
    metadata: GroupMetadata
    spec: GroupFields


class VersionDocument(Model):
    """``version.yaml`` in a version's folder: what it has beside its folders of services."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["GroupVersion"]
    services: list[ServiceName] = Field(
        description="Services that belong to this version without pods in it, so that requests for the version are not "
        "answered by another one."
    )


class RoutePath(Model):
    """Exactly one of the three."""

    prefix: UrlPath | None = Field(None, description="This path and all below it, by whole elements.")
    exact: UrlPath | None = Field(None, description="This path only.")
    regex: Expression | None = Field(None, description="The whole path matches this regular expression.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(each is not None for each in (self.prefix, self.exact, self.regex)) != 1:
            raise Conflict("", "must have exactly one of prefix, exact and regex", "write path: {prefix: /cart}")
        return self


class ServiceRoute(Model):
    """Leads requests to the service of this folder."""

    path: RoutePath = Field(description="The path of the requests.")
    host: Host | None = Field(None, description="Their host; those of group.yaml where absent.")
    headers: Annotated[dict[HeaderName, HeaderValue], Field(max_length=_MOST_HEADERS)] | None = Field(
        None, description="Headers that they must have, with their exact values."
    )
    methods: (
        Annotated[
            list[Literal["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]],
            Field(min_length=1),
        ]
        | None
    ) = Field(None, description="Their methods; any where absent.")
    rewrite: UrlPath | None = Field(
        None, description="What replaces the matched prefix, or the whole path of another route."
    )
    timeout: Duration | None = Field(None, description="How long a request may take, such as 10s.")
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="The port of the Service; needed only where it has several."
    )
    allowed: bool = Field(True, description="false: nobody may send these requests, whatever the version.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for field, value in (("rewrite", self.rewrite), ("timeout", self.timeout)):
            if value is not None and not self.allowed:
                raise Conflict(field, "means nothing for requests that are not allowed", "remove it")
        methods = self.methods or []
        for place, method in enumerate(methods):
            if method in methods[:place]:
                raise Conflict(f"methods.{place}", f"{method} is named twice", "remove one of the two")
        return self


class RoutesDocument(Model):
    """``routes.yaml`` in a service's folder: the requests that it answers."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["ServiceRoutes"]
    routes: list[ServiceRoute]
