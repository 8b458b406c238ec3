"""The hooks of app.yaml: Flagger's ``webhooks``, with Flagger's fields, and their limits beside them.

Only the schemas (flagger.md §3.4) and their conversion to the core; nothing is called here. A hook without an address
is a manual gate. Secrets stay references, ``{{secret:NAME/KEY}}``, until a call is sent.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.spec.analysis.providers import LONGEST_TIMEOUT, WebAddress
from gitops_bg.spec.app.fields import (
    Count,
    Model,
    Period,
    Positive,
    SecretKeyRef,
    Text,
    Title,
    Word,
    whole_seconds,
)
from gitops_bg.spec.app.validation import Conflict

TIMEOUT = "10s"
INTERVAL = 30
PATIENCE = 600
"""How many seconds a backend may be down before the agent gives up on a hook other than confirm-* and rollback."""

_COUNTS = ("pre-rollout", "rollout")
_CONFIRMS = ("confirm-rollout", "confirm-promotion")
_SECRET = re.compile(r"\{\{secret:[^/}]+/[^}]+\}\}")


class HeaderSource(Model):
    """The source of a header's value."""

    secret_key_ref: SecretKeyRef = Field(description="A Secret; never shown, logged or remembered.")


class HookHeader(Model):
    """One more HTTP header."""

    name: Word = Field(description="Such as Authorization.")
    value: str | None = Field(None, description="Its value; {{secret:NAME/KEY}} in it is filled in from a Secret.")
    value_from: HeaderSource | None = Field(None, description="Where its value comes from.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.value is None) == (self.value_from is None):
            raise Conflict("", "must have exactly one of value and valueFrom", "write value: ...")
        return self

    @property
    def text(self) -> str:
        """The value, with a Secret as a reference."""
        if self.value_from is None:
            return self.value or ""
        ref = self.value_from.secret_key_ref
        return f"{{{{secret:{ref.name}/{ref.key}}}}}"


class Webhook(Model):
    """One hook: Flagger's fields, and after them its limits."""

    name: Title = Field(description="What it is called; no two hooks of an app may share a name.")
    type: Literal[
        "confirm-rollout", "pre-rollout", "rollout", "confirm-promotion", "rollback", "post-rollout", "event"
    ] = Field("rollout", description="When it is called, see docs/features/hooks.md.")
    url: WebAddress | None = Field(
        None, description="Where to POST. A confirm-rollout or confirm-promotion hook without one is a manual gate."
    )
    timeout: Period = Field(TIMEOUT, description="How long one call may take, up to 5m. Default 10s.")
    retries: Count = Field(0, description="How often a 5xx is asked again, after 1 to 30 s, before it counts.")
    mute_alert: bool = Field(False, description="No event and no ledger entry when it refuses.")
    disable_tls: bool = Field(
        False, alias="disableTLS", description="Do not verify the server's certificate. For tests."
    )
    metadata: dict[str, str] | None = Field(None, description="Sent along as it is; {{secret:NAME/KEY}} is filled in.")
    headers: list[HookHeader] | None = Field(None, description="More HTTP headers.")
    ca_cert: Text | None = Field(
        None, description="The PEM certificates of the authorities that the server's certificate may be signed by."
    )
    interval: Period | None = Field(
        None, description="The time between two calls of a hook that is polled. Default 30s."
    )
    iterations: Positive | None = Field(None, description="rollout: how many good answers it takes. Default 1.")
    failure_limit: Count | None = Field(
        None, description="pre-rollout and rollout: how many refusals do no harm. Default 0; Flagger's threshold - 1."
    )
    deadline: Period | None = Field(
        None,
        description="confirm-*: how long it may stay shut, for ever where absent. Others: how long its backend may "
        "be down, default 10m. Then it is not called any more, and nothing is promoted until `gitops-bg retry`.",
    )

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.url is None and self.type not in _CONFIRMS:
            by_hand = "; by hand, it is `gitops-bg abort`" if self.type == "rollback" else ""
            raise Conflict("url", f"is required for the type {self.type}", f"add it{by_hand}")
        self._reject(self.type != "rollout", "iterations", "rollout")
        self._reject(self.type not in _COUNTS, "failureLimit", "pre-rollout and rollout")
        self._reject(self.type == "rollback", "deadline", "every type but rollback")
        return self

    def _reject(self, unfit: bool, field: str, types: str) -> None:
        value = {"iterations": self.iterations, "failureLimit": self.failure_limit, "deadline": self.deadline}[field]
        if unfit and value is not None:
            raise Conflict(field, f"means nothing for the type {self.type}", f"remove it: it is for {types}")

    @model_validator(mode="after")
    def _times(self) -> Self:
        if not 0 < seconds_of(str(self.timeout)) <= LONGEST_TIMEOUT:
            raise Conflict("timeout", f"{self.timeout} is not between 1s and 5m", "write 10s")
        if self.interval is not None and whole_seconds(self.interval) < 1:
            raise Conflict("interval", "is 0, so it would be called without a pause", "write 30s")
        if self.deadline is not None and whole_seconds(self.deadline) < 1:
            raise Conflict("deadline", "is 0, so it would never be called", "write 10m, or remove it")
        return self

    @model_validator(mode="after")
    def _references(self) -> Self:
        if "{{" in _SECRET.sub("", self.url or ""):
            raise Conflict("url", "holds {{…}} that is no secret", "write {{secret:NAME/KEY}}")
        return self


def check_names(place: str, webhooks: Sequence[Webhook], beside: Sequence[Webhook] = ()) -> None:
    """Raise ``Conflict`` where two hooks share a name: their answers could not be told apart."""
    seen = {webhook.name for webhook in beside}
    for number, webhook in enumerate(webhooks):
        if webhook.name in seen:
            message = f"there are two hooks called {webhook.name}"
            raise Conflict(f"{place}.{number}.name", message, "rename one of them")
        seen.add(webhook.name)


def to_hook(webhook: Webhook, interval: int = INTERVAL, iterations: int = 1, failure_limit: int = 0) -> Hook:
    """The hook as the core sees it; the limits apply to a hook without its own."""
    kind = HookType(webhook.type)
    return Hook(
        name=webhook.name,
        type=kind,
        request=json.dumps(_request(webhook), sort_keys=True, separators=(",", ":")),
        manual=webhook.url is None,
        interval=interval if webhook.interval is None else whole_seconds(webhook.interval),
        retries=webhook.retries,
        iterations=(webhook.iterations or iterations) if kind is HookType.ROLLOUT else 1,
        failure_limit=_limit(webhook, failure_limit) if kind.counts_refusals else 0,
        deadline=_deadline(webhook, kind),
        mute_alert=webhook.mute_alert,
    )


def _limit(webhook: Webhook, default: int) -> int:
    return default if webhook.failure_limit is None else webhook.failure_limit


def _deadline(webhook: Webhook, kind: HookType) -> int | None:
    if webhook.deadline is not None:
        return whole_seconds(webhook.deadline)
    return None if kind.confirms or kind is HookType.ROLLBACK else PATIENCE


def _request(webhook: Webhook) -> dict[str, Any]:
    """The request for `gitops_bg.hooks`; missing fields are left out."""
    whole = {
        "url": webhook.url,
        "timeout": seconds_of(str(webhook.timeout)),
        "metadata": webhook.metadata,
        "headers": {header.name: header.text for header in webhook.headers or ()},
        "disableTLS": webhook.disable_tls,
        "caCert": webhook.ca_cert,
    }
    return {key: value for key, value in whole.items() if value}
