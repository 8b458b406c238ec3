"""The types of fields that users write: texts, counts, delays, times, periods, references to Secrets, and Gateways with
the Gateway API's names (https://gateway-api.sigs.k8s.io/reference/spec/). Knows no model with such fields.
"""

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from gitops_bg.core.foreign_text import YEARS, is_in_range, seconds_of
from gitops_bg.core.model.auxiliary import ParentRef
from gitops_bg.core.model.spec import IntOrPercent, Revision
from gitops_bg.core.written import DIGEST, LARGEST, Conflict, DnsLabel, Matching, Text
from gitops_bg.spec.app.layout import APP_FILE, PRIMARY_FILE, SUBDOMAIN

NEVER = "never"
_REVISION = re.compile(rf"v?[1-9][0-9]{{0,8}}|{DIGEST}|[0-9a-f]{{40}}|[0-9a-f]{{64}}", re.ASCII)
_PERCENT = re.compile(r"\d{1,2}%|100%", re.ASCII)


def _file_in_the_folder(name: str) -> str:
    if "/" in name or not name.endswith((".yaml", ".yml")) or name in (APP_FILE, PRIMARY_FILE):
        raise PydanticCustomError("file", "must name a YAML file in the app's own folder, such as target.yaml")
    return name


def _moment(value: Any) -> Any:
    """Convert RFC 3339 text to a datetime; leave anything else to the type's own error."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in value:
        raise PydanticCustomError("moment", "must be a time with its zone, such as 2026-03-01T12:00:00Z")
    if not is_in_range(moment):
        raise PydanticCustomError("moment", f"must lie between the years {YEARS[0]} and {YEARS[1]}")
    return moment


def _delay(value: Any) -> int | None:
    if value == NEVER:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return value
    raise PydanticCustomError("delay", 'must be a whole number of seconds, 0 or more, or "never"')


def _int_or_percent(value: Any) -> IntOrPercent:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return IntOrPercent(value)
    if isinstance(value, str) and _PERCENT.fullmatch(value):
        return IntOrPercent(int(value.rstrip("%")), percent=True)
    raise PydanticCustomError("share", 'must be a number of pods, 0 or more, or a share of them from "0%" to "100%"')


def _revision(value: Any) -> Revision:
    """Return a number, also as ``v3``; a digest, or its beginning; a full commit id."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST:
        return Revision(number=value)
    if isinstance(value, str) and _REVISION.fullmatch(value):
        if ":" in value:
            return Revision(digest=value)
        return Revision(commit=value) if len(value) >= 40 else Revision(number=int(value.removeprefix("v")))
    raise PydanticCustomError(
        "revision", "must be the number of a version (3 or v3), a digest (v1:3f9c…) or a full commit id"
    )


def is_open(value: object) -> bool:
    """Return whether a value is text with ``{{…}}``, so that it is validated only when its args are known."""
    return isinstance(value, str) and "{{" in value


def _period(value: Any) -> int | str:
    """Return a whole number of seconds, or text such as 30s and 5m."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return value
    if isinstance(value, str) and _is_period(value):
        return value
    raise PydanticCustomError("period", "must be a duration such as 30s, 5m or 1h30m, or a number of seconds")


def _open_period(value: Any) -> int | str:
    return value if is_open(value) else _period(value)


def _is_period(text: str) -> bool:
    try:
        return seconds_of(text) <= LARGEST
    except ValueError:
        return False


def _limit(value: Any) -> int | str:
    """Return a whole number from -1 (no limit), also as text, or text with args to fill in."""
    number = int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() else value
    if isinstance(number, int) and not isinstance(number, bool) and -1 <= number <= LARGEST:
        return number
    if is_open(value):
        return value  # type: ignore[no-any-return]
    raise PydanticCustomError("limit", f"must be a whole number from 0 to {LARGEST}, or -1 for no limit")


def whole_seconds(period: int | str) -> int:
    """Return the seconds of a period without open args; a part of a second counts as one.

    >>> whole_seconds("5m"), whole_seconds(30), whole_seconds("500ms")
    (300, 30, 1)
    """
    return math.ceil(seconds_of(str(period)))


_INT_OR_STRING = WithJsonSchema({"x-kubernetes-int-or-string": True})
Word = Annotated[str, Matching(r"[A-Za-z0-9_-]+", "use letters, digits, - and _")]
"""The name of something that other texts name: an arg, a header."""
Title = Annotated[
    str, Matching(r"[A-Za-z0-9_-][A-Za-z0-9 ._-]{0,62}", "use at most 63 letters, digits, spaces, ., - and _")
]
"""What people call a hook or an alert."""
Period = Annotated[int | str, PlainValidator(_period), _INT_OR_STRING]
OpenPeriod = Annotated[int | str, PlainValidator(_open_period), _INT_OR_STRING]
"""A period that may contain args."""
Limit = Annotated[int | str, PlainValidator(_limit), _INT_OR_STRING]
"""A count or a limit that may contain args; -1 means no limit."""
Moment = Annotated[datetime, BeforeValidator(_moment)]
DelayOrNever = Annotated[int | str, PlainValidator(_delay), _INT_OR_STRING]
NumberOrPercentage = Annotated[int | str, PlainValidator(_int_or_percent), _INT_OR_STRING]
RevisionText = Annotated[int | str, PlainValidator(_revision), _INT_OR_STRING]
TargetFile = Annotated[str, AfterValidator(_file_in_the_folder)]
Files = Annotated[list[TargetFile], Field(min_length=1)]
"""Files of the folder."""


class Model(BaseModel):
    """Base of all models of user files: unknown fields and wrong types are errors, never guesses."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, frozen=True, defer_build=True)


# --- references to one key of a Secret; no file contains its value ---

SecretName = Annotated[str, Matching(SUBDOMAIN, "use small letters, digits, - and .")]


class SecretKeyRef(Model):
    """One key of a Secret in the app's namespace; read only when a metric is measured."""

    name: SecretName = Field(description="The Secret.")
    key: Text = Field(description="The key in it.")


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
    """Do as the schema of HTTPRoute demands: https://gateway-api.sigs.k8s.io/reference/spec/#commonroutespec.

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
