"""What users write in ``policies/*.yaml``: the schemas of `PromotionPolicy` and `People`. Descriptions are for users.

The rules are declared in the core (`core.model.policy_rules`); `written` has the parts of them that a file writes in
another form. `load` reads files.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gitops_bg.core.model.policy_rules import (
    After,
    Approvals,
    Cel,
    Concurrency,
    Images,
    Match,
    Message,
    Separation,
    Soak,
    Windows,
)
from gitops_bg.core.written import Conflict, DnsLabel, Text
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.declared import Declared

Names = Annotated[list[Text], Field(min_length=1)]


class PolicyMetadata(Model):
    """The name of the policy, here and in `require`."""

    name: DnsLabel
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class RuleEntry(Model):
    """Exactly one of these."""

    windows: Declared[Windows] | None = None
    soak: Declared[Soak] | None = None
    images: Declared[Images] | None = None
    message: Declared[Message] | None = None
    concurrency: Declared[Concurrency] | None = None
    after: Declared[After] | None = None
    cel: Declared[Cel] | None = None
    approvals: Declared[Approvals] | None = None
    separation: Declared[Separation] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            known = ", ".join(type(self).model_fields)
            found = " and ".join(given) or "none"
            raise Conflict("", f"a rule is exactly one of {known}; found {found}", "begin a new `- ` for each")
        return self

    @property
    def given(self) -> Any:
        """The one that is given."""
        return next(each for name in type(self).model_fields if (each := getattr(self, name)) is not None)


class OverrideEntry(Model):
    """Who may promote in spite of the policy: each time with a reason, which the ledger shows to all."""

    by: Names = Field(description="Names of policies/people.yaml, and groups as group:incident.")
    proof: Literal["merge", "signed"] = Field(
        "merge",
        description="What is believed of who it was: merge, the e-mail address that the promotion is by; signed, the "
        "SSH key that signed the promotion.",
    )


class PolicySpec(Model):
    """What must hold before traffic moves to a new version. No policy stops a rollback."""

    match: Declared[Match] | None = None
    mode: Literal["enforce", "warn"] = Field("enforce", description="warn: it is shown, and nothing waits.")
    rules: Annotated[list[RuleEntry], Field(min_length=1)] = Field(description="All of them must be open.")
    override: OverrideEntry | None = None


class PromotionPolicy(Model):
    """A document of a file of ``policies/``."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["PromotionPolicy"]
    metadata: PolicyMetadata
    spec: PolicySpec


FORGES = {"github": ("github",), "gitlab": ("gitlab",), "gitea": ("gitea", "forgejo"), "forgejo": ("forgejo", "gitea")}
"""The keys of ``forge`` in people.yaml, each with its equivalents: Forgejo is a Gitea with another name."""


class PersonEntry(Model):
    """A person, and how others identify them."""

    name: Text = Field(description="What policies and the ledger call them.")
    emails: list[Text] | None = Field(None, description="Addresses that their commits are by.")
    forge: dict[str, str | int] | None = Field(
        None,
        description="Their stable ids, by forge: {github: 12345}.",
        json_schema_extra={"propertyNames": {"enum": list(FORGES)}},
    )
    bot: bool = Field(False, description="It is a program: it may write changes, and approves none.")
    signers: list[Text] | None = Field(None, description="Names in policies/allowed_signers.")
    groups: list[DnsLabel] | None = Field(None, description="The groups that they are in.")

    @model_validator(mode="after")
    def _by_ids(self) -> Self:
        for kind, number in (self.forge or {}).items():
            if kind not in FORGES:
                raise Conflict(f"forge.{kind}", f"{kind} is no forge", f"write one of {', '.join(FORGES)}")
            if not re.fullmatch(r"[1-9][0-9]{0,18}", str(number)):
                remedy = "write the number that the forge has for the account: a login can be taken over"
                raise Conflict(f"forge.{kind}", f"{number} is no id", remedy)
        return self

    def known_by(self) -> set[str]:
        """Return the names, addresses and ids that identify them."""
        ids = {f"{kind} id {number}" for key, number in (self.forge or {}).items() for kind in FORGES[key]}
        keys = {f"signer {name}" for name in self.signers or ()}
        return ids | keys | {email.lower() for email in self.emails or ()}


class People(Model):
    """``policies/people.yaml``: who is who."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["People"]
    people: Annotated[list[PersonEntry], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [person.name for person in self.people]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise Conflict(f"people.{place}.name", f"{name} is there twice", "rename one, or join the two")
        self._check_unique()
        return self

    def _check_unique(self) -> None:
        seen: dict[str, str] = {}
        for place, person in enumerate(self.people):
            for known in sorted(person.known_by()):
                if known in seen:
                    message = f"{known} is that of {seen[known]}, too"
                    raise Conflict(f"people.{place}", message, "leave it with one of the two")
            seen |= dict.fromkeys(person.known_by(), person.name)
