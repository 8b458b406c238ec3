"""Test cases of policies, in files (``*.test.yaml``): facts and the expected verdicts, which the core judges."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from gitops_bg.core.checks.policy_judge import SKIPPED, judge, matching
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import ClusterReport, Former, KnownRelease, ProvenRelease
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_facts import (
    Approval,
    CommitFacts,
    Others,
    PastMove,
    Peer,
    Person,
    PolicyFacts,
    RuleVerdict,
    SignedBy,
    VersionFacts,
)
from gitops_bg.core.model.policy_rules import Policy, Proof
from gitops_bg.core.model.version import AppKey, ReleaseId
from gitops_bg.core.written import Matching, Text
from gitops_bg.spec.app.fields import Model, Moment, Period, whole_seconds
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.yaml.reader import Document, first_of_each, read

_TO, _FROM = "v1:new", "v1:old"

Answer = Literal["open", "shut", "warns", "overridden", "absent"]


class CommitCase(Model):
    """A commit."""

    by: Text = "somebody <somebody@example.com>"
    message: str = ""
    trailers: dict[str, str] | None = None
    signed_by: Annotated[Text | None, Field(description="Whose key signed it, as people.yaml calls them.")] = None


class VersionCase(Model):
    """The version to be promoted."""

    images: list[Text] | None = None
    label: str = ""
    number: int = 2
    source: CommitCase = CommitCase()


class PastCase(Model):
    """A past movement of traffic."""

    ago: Period


class HistoryCase(Model):
    """The past, newest first."""

    promotions: list[PastCase] | None = None
    rollbacks: list[PastCase] | None = None


class PeerCase(Model):
    """Another app."""

    healthy_for: Period | None = None
    phase: str = ""
    label: str = ""
    labels: dict[str, str] | None = None
    moving: bool = False
    queued: int | None = None


class ApprovalCase(Model):
    """An approval; with proof merge, the merge of the promotion."""

    by: Text
    groups: list[Text] | None = None
    ago: Period = 0
    proof: Literal["forge", "merge"] = "forge"
    other_version: bool = False


class SkippedCase(CommitCase):
    """The commit of `gitops-bg enter --skip`."""

    environments: list[Text]


class Case(Model):
    """One case; what is omitted has the values of an app that could be promoted at once."""

    name: Text
    now: Moment
    app: Annotated[str, Matching("[^/]+/[^/]+", "write NAMESPACE/NAME")] = "shop/web"
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    first: bool = Field(False, description="Nothing serves yet.")
    version: VersionCase = VersionCase()
    available_for: Period | None = "1d"
    promotion: CommitCase | None = None
    place: int = 0
    history: HistoryCase = HistoryCase()
    others: dict[str, PeerCase] | None = None
    approvals: list[ApprovalCase] | None = None
    authors: list[Text] | None = None
    merger: str | None = None
    environment: str = ""
    proven: dict[str, Period] | None = Field(None, description="By environments before, how long the release served.")
    skipped: SkippedCase | None = Field(None, description="Who let the release in past environments before.")
    served: dict[str, list[Text]] | None = Field(None, description="By environments before, the images that served.")
    expect: Annotated[dict[str, Answer], Field(min_length=1, description="By the names of policies.")]
    until: Moment | None = Field(None, description="The first moment at which a shut one opens by itself.")


class PromotionPolicyTest(Model):
    """A file of test cases."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["PromotionPolicyTest"]
    cases: Annotated[list[Case], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case; ``wrong`` is empty if all is as expected."""

    file: str
    line: int
    name: str
    wrong: tuple[str, ...] = ()


def run_cases(file: str, data: bytes, policies: tuple[Policy, ...]) -> tuple[list[CaseResult], list[Problem]]:
    """Return the results of the cases of a file, judged by ``policies``; and the errors in the file."""
    reading = read(file, data)
    results: list[CaseResult] = []
    problems = list(reading.problems)
    for document in reading.documents:
        model, wrong = validate(PromotionPolicyTest, document)
        problems.extend(wrong)
        for number, case in enumerate(model.cases if model else ()):
            results.append(_result(document, number, case, policies))
    return results, list(first_of_each(problems))


def _result(document: Document, number: int, case: Case, policies: tuple[Policy, ...]) -> CaseResult:
    place = document.problem(("cases", number), "").line or 1
    return CaseResult(document.file, place, case.name, tuple(_wrong(case, policies)))


def _wrong(case: Case, policies: tuple[Policy, ...]) -> Iterator[str]:
    facts = facts_of_case(case)
    known = {policy.name for policy in policies}
    matched = matching(policies, facts.app, facts.labels, facts.environment)
    verdicts = judge(matched, facts, case.now)
    names = {policy.name for policy in matched}
    for name, expected in case.expect.items():
        of_policy = [verdict for verdict in verdicts if verdict.policy == name]
        found = _answer(name in names, of_policy)
        if name not in known:
            yield f"there is no policy {name}; known: {', '.join(sorted(known)) or 'none'}"
        elif found != expected:
            said = "; ".join(each.reason for each in of_policy if not each.open)
            yield f"{name}: expected {expected}, found {found}{f' ({said})' if said else ''}"
    untils = [
        verdict.until for verdict in verdicts if verdict.until and verdict.holds and verdict.policy in case.expect
    ]
    if case.until and min(untils, default=None) != case.until:
        found_until = f"{min(untils):%Y-%m-%dT%H:%M:%SZ}" if untils else "none"
        yield f"until: expected {case.until:%Y-%m-%dT%H:%M:%SZ}, found {found_until}"


def _answer(matches: bool, verdicts: list[RuleVerdict]) -> Answer:
    if not matches:
        return "absent"
    if any(verdict.holds for verdict in verdicts):
        return "shut"
    if any(verdict.overriding for verdict in verdicts):
        return "overridden"
    return "open" if all(verdict.open for verdict in verdicts) else "warns"


def facts_of_case(case: Case) -> PolicyFacts:
    """Return the facts that a case describes."""
    namespace, _, name = case.app.partition("/")
    available = case.now - _ago(case.available_for) if case.available_for is not None else None
    approvals = None if case.approvals is None else tuple(_approval(each, case.now) for each in case.approvals)
    return PolicyFacts(
        app=AppKey(namespace, name),
        to=VersionFacts(
            _TO,
            case.version.number,
            case.version.label,
            tuple(case.version.images or ("registry.example/shop/web:2",)),
            _commit(case.version.source, "5" * 40, case.now),
            "5" * 40,
        ),
        serving=None if case.first else VersionFacts(_FROM, 1),
        labels=_pairs(case.labels),
        annotations=_pairs(case.annotations),
        available_since=available,
        promoted=case.promotion is not None,
        promotion=_commit(case.promotion, "6" * 40, case.now) if case.promotion else None,
        queue=(case.place, ""),
        others=Others({peer.who: peer for peer in _peers(case)}),
        promotions=tuple(PastMove(case.now - _ago(each.ago), _TO) for each in case.history.promotions or ()),
        rollbacks=tuple(PastMove(case.now - _ago(each.ago), _TO) for each in case.history.rollbacks or ()),
        approvals=None if approvals is None else tuple(each for each in approvals if each.proof is not Proof.MERGE),
        authors=None if case.authors is None else frozenset(case.authors),
        merger=case.merger,
        merge=next((each for each in approvals or () if each.proof is Proof.MERGE), None),
        environment=case.environment,
        release=KnownRelease(_RELEASE, _RELEASE.commit) if case.environment else None,
        formers=tuple(_former(name, seconds, case.now) for name, seconds in (case.proven or {}).items()),
        entry=_entry(case.skipped, case.now) if case.skipped else None,
        served={name: frozenset(images) for name, images in (case.served or {}).items()},
    )


_RELEASE = ReleaseId(2, "r1:" + "5" * 64, "5" * 40)


def _former(name: str, period: int | str, now: datetime) -> Former:
    seconds = whole_seconds(period)
    proof = ProvenRelease(_RELEASE, seconds, _TO, now - _ago(period), now, _RELEASE.commit)
    return Former(name, seconds, (ClusterReport(name, (proof,), _RELEASE, _RELEASE.commit, proof.since, now),))


def _entry(written: SkippedCase, now: datetime) -> CommitFacts:
    commit = _commit(written, "7" * 40, now)
    return replace(commit, trailers=(*commit.trailers, *((SKIPPED, each) for each in written.environments)))


def _ago(period: int | str) -> timedelta:
    return timedelta(seconds=whole_seconds(period))


def _pairs(written: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((written or {}).items()))


def _commit(written: CommitCase, id_: str, now: datetime) -> CommitFacts:
    name, _, mail = written.by.partition("<")
    by = Person(name.strip(), mail.rstrip("> "))
    signed = SignedBy(written.signed_by) if written.signed_by else None
    return CommitFacts(id_, by, by, now.astimezone(UTC), written.message, _pairs(written.trailers), signed)


def _peers(case: Case) -> Iterator[Peer]:
    for place, written in (case.others or {}).items():
        namespace, _, name = place.partition("/")
        yield Peer(
            who=AppKey(namespace, name),
            labels=_pairs(written.labels),
            healthy_since=None if written.healthy_for is None else case.now - _ago(written.healthy_for),
            phase=written.phase,
            label=written.label,
            moving=written.moving,
            queued=None if written.queued is None else (written.queued, ""),
        )


def _approval(written: ApprovalCase, now: datetime) -> Approval:
    digest = _FROM if written.other_version else _TO
    return Approval(written.by, digest, now - _ago(written.ago), Proof(written.proof), frozenset(written.groups or ()))
