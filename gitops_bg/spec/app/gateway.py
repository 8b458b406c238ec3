"""What app.yaml and group.yaml say of Gateways, with the Gateway API's names.

https://gateway-api.sigs.k8s.io/reference/spec/
"""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gitops_bg.core.model.auxiliary import ParentRef
from gitops_bg.core.written import Conflict, DnsLabel, Matching
from gitops_bg.spec.app.fields import Model

_HOST = re.compile(r"(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABELS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_HEADER = r"[A-Za-z0-9!#$%&'*+.^_|~-]{1,256}"


def _host(text: str) -> str:
    if len(text) > 253 or not _HOST.fullmatch(text) or re.fullmatch(r"[0-9.]+", text):
        raise Conflict("", f"{text!r} is no host name", "write one such as shop.example.com or *.example.com")
    return text


Host = Annotated[str, AfterValidator(_host)]
HeaderName = Annotated[str, Matching(_HEADER, "use letters, digits and - as in X-Version, and no space")]
GatewayName = Annotated[str, Field(max_length=253), Matching(_LABELS, "use small letters, digits, - and .")]
"""Of a Gateway, or one of its listeners: labels with dots between them, as Kubernetes has names of objects."""


class GatewayRef(Model):
    """A Gateway, or one listener of it."""

    name: GatewayName = Field(description="The Gateway.")
    namespace: DnsLabel | None = Field(None, description="Its namespace; that of the route where absent.")
    section_name: GatewayName | None = Field(None, description="One listener of it; all of them where absent.")
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="The listeners of one port; all of them where absent."
    )


def _each_once(refs: list[GatewayRef]) -> list[GatewayRef]:
    """As the schema of HTTPRoute demands: https://gateway-api.sigs.k8s.io/reference/spec/#commonroutespec.

    A Gateway that is named more than once has a listener of its own in each; ports tell them apart only where the
    experimental schema is installed.
    """
    for place, ref in enumerate(refs):
        others = [each for each in refs[:place] if (each.name, each.namespace) == (ref.name, ref.namespace)]
        if any(
            not (each.section_name and ref.section_name) or each.section_name == ref.section_name for each in others
        ):
            remedy = "remove one of the two, or name a sectionName of its own in each"
            raise Conflict("", f"names {ref.name} twice", remedy)
    return refs


ParentRefs = Annotated[list[GatewayRef], Field(min_length=1, max_length=32), AfterValidator(_each_once)]
Hosts = Annotated[list[Host], Field(min_length=1, max_length=16)]


class Routes(Model):
    """A route of the Gateway API in front of an app's Services."""

    parent_refs: ParentRefs = Field(description="The Gateways that the route is attached to.")
    hosts: Hosts | None = Field(None, description="The hosts of the requests; every host of the Gateway where absent.")
    protocol: Literal["http", "grpc"] = Field("http", description="http: an HTTPRoute. grpc: a GRPCRoute.")
    version_header: HeaderName = Field(
        "X-Version",
        description="The request header that chooses the candidate: by the word candidate, or by the first ten digits "
        "of its digest. Any other value means the live version.",
    )
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="The port of the Services; needed only where they have several."
    )


def parents_of(refs: Iterable[GatewayRef]) -> tuple[ParentRef, ...]:
    """Return the Gateways as the core has them."""
    return tuple(ParentRef(ref.name, ref.namespace or "", ref.section_name or "", ref.port or 0) for ref in refs)
