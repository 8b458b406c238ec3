"""Which release comes into an environment next, and what it waits for: from what the agents of the clusters before it
have said, and nothing else (decision 113). Decides nothing about live traffic, and so keeps no way back.

A release comes in once it is proven in all environments that this one follows, is not on hold, and is newer by main's
own line than the one that is here. Nobody's clock is compared with another one's: a cluster says itself that the time
is over.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.checks.policy_rules import RuleAnswer, length
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import Newer
from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, Former, KnownRelease, newest_first
from gitops_bg.core.model.policy_facts import PolicyFacts
from gitops_bg.core.model.policy_rules import After, ProvenIn
from gitops_bg.core.model.version import ReleaseId


@dataclass(frozen=True, slots=True)
class Here:
    """What this environment does with the release that is in it."""

    held: tuple[tuple[str, str], ...] = ()
    """The releases on hold here, by their digests, each with why."""
    on_its_way: str = ""
    """What the release that came in last is doing, until it serves for good, or is given up; empty: that is over."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer: what comes in now, and what is waited for."""

    release: KnownRelease | None = None
    """None where nothing comes in now."""
    waits: str = ""
    """What a newer release waits for before it comes in, in a sentence; empty where none is in sight."""
    until: datetime | None = None
    """When that may be over at the earliest, by the clock of the cluster that it waits for."""


NOTHING = Choice()


def choose(environment: EnvironmentInput, here: Here = Here()) -> Choice:  # noqa: B008 - frozen
    """Return which release comes into an environment now, and what the next one waits for."""
    if not environment.formers:
        return NOTHING
    if environment.unclear:
        return Choice(waits=environment.unclear)
    if (here_now := environment.entered) is not None and here_now.landed is None and _are_others(environment):
        said = f"{here_now.id.name}, which is here, came with commit {here_now.commit[:10]}, which main does not have: "
        return Choice(waits=f"{said}nobody can tell what is newer; gitops-bg enter --skip lets one in")
    chosen = _newest_proven(environment, here)
    if chosen is None:
        return _in_sight(environment, here)
    if environment.newer is Newer.WAIT and here.on_its_way:
        return Choice(waits=f"{chosen.id.name} is proven, and waits until {here.on_its_way} (newer: wait)")
    return replace(_in_sight(replace(environment, entered=chosen), here), release=chosen)


def _newest_proven(environment: EnvironmentInput, here: Here) -> KnownRelease | None:
    held = dict((*environment.held, *here.held))
    for each in newest_first(environment.known):
        if is_newer(environment, each) and each.id.digest not in held and not missing_proof(environment, each):
            return each
    return None


def _are_others(environment: EnvironmentInput) -> bool:
    """Return whether another release than the one that is here could come in."""
    here = environment.entered
    return any(
        each.landed is not None and each.id.digest != (here.id.digest if here else "") for each in environment.known
    )


def is_newer(environment: EnvironmentInput, release: KnownRelease) -> bool:
    """Return whether main has a release that came into it after the one that is here: order is known, never guessed."""
    here = environment.entered
    if release.landed is None or (here is not None and here.landed is None):
        return False
    return here is None or here.landed is None or release.landed > here.landed


def missing_proof(environment: EnvironmentInput, release: KnownRelease) -> tuple[str, ...]:
    """Return what keeps a release from being proven before it comes here, a sentence for each environment: of those
    that ``environments.yaml`` names, and of those that policies do.
    """
    found = (_missing(former, release) for former in formers_asking(environment))
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))


def formers_asking(environment: EnvironmentInput) -> tuple[Former, ...]:
    """Return the environments in which a release has to be proven: by environments.yaml, or by policies that do more
    than warn.
    """
    return (*environment.formers, *(each for each in environment.asked if not each.warns))


def after_environments(rule: After, facts: PolicyFacts, _: datetime) -> RuleAnswer:
    """Return whether the release of a version is proven where a policy asks for it, by what lets a release in."""
    if facts.release is None:
        return RuleAnswer(False, "nobody can tell which release it is of", unknown=True)
    missing, name = _missing_by(_asked_by(rule, facts), facts.release), facts.release.id.name
    if not missing:
        return RuleAnswer(True, f"{name} is proven in {' and '.join(rule.from_)}")
    said = f"{name} waits for {'; '.join(missing.values())}"
    return RuleAnswer(False, said, _until(_asked_by(rule, facts), facts.release))


def not_proven(rule: After, facts: PolicyFacts) -> frozenset[str]:
    """Return the environments of a rule that have not proven the release."""
    return frozenset(_missing_by(_asked_by(rule, facts), facts.release) if facts.release else rule.from_)


def _asked_by(rule: After, facts: PolicyFacts) -> tuple[Former, ...]:
    known, seconds = {each.name: each for each in facts.formers}, int(rule.proven.total_seconds())
    reports = {name: known[name].clusters if name in known else () for name in rule.from_}
    return tuple(Former(name, seconds, of, rule.proven_in is ProvenIn.ANY) for name, of in reports.items())


def missing_in(formers: Iterable[Former], release: ReleaseId) -> dict[str, str]:
    """Return the environments that have not proven a release, each with what keeps it from that."""
    return _missing_by(formers, KnownRelease(release, release.commit))


def _missing_by(formers: Iterable[Former], release: KnownRelease) -> dict[str, str]:
    return {former.name: sentence for former in formers if (sentence := _missing(former, release))}


def _missing(former: Former, release: KnownRelease) -> str:
    """Return what keeps a release from being proven in an environment; empty where it is."""
    lacking = [each for each in former.clusters if not is_proven_in(former, each, release)]
    enough = len(lacking) < len(former.clusters) if former.in_any else not lacking
    if former.clusters and enough:
        return ""
    whom = lacking[:1] if former.in_any else lacking
    said = "; ".join(_of_cluster(former, each, release) for each in whom) or "the app is not in it"
    return f"{former.name}: {said}"


def is_proven_in(former: Former, report: ClusterReport, release: KnownRelease) -> bool:
    """Return whether a cluster of a former environment says that a release is proven there for long enough."""
    if report.trouble:
        return False
    proof = (each for each in report.proven if each.is_of(release.id.digest, release.commit))
    return any(each.seconds >= former.seconds for each in proof)


def _serves(report: ClusterReport, release: KnownRelease) -> bool:
    is_same = report.serves is not None and report.serves.digest == release.id.digest
    return is_same and report.serves_of == release.commit and not report.trouble


def _of_cluster(former: Former, report: ClusterReport, release: KnownRelease) -> str:
    if report.trouble:
        return _not_counting(report)
    wrote = f"last wrote at {moment(report.written)}" if report.written else "has written nothing"
    if _serves(report, release):
        asked = f" for {length(timedelta(seconds=former.seconds))}, healthy" if former.seconds else ", settled"
        said = f"it serves in {report.cluster} since {moment(report.since)}, and has to{asked}"
    else:
        said = f"{report.cluster} serves {report.serves.name if report.serves else 'no release yet'}"
    return f"{said} ({report.cluster}'s agent {wrote})"


def _not_counting(report: ClusterReport) -> str:
    return f"the ledger of {report.cluster} does not count: {report.trouble}"


def _in_sight(environment: EnvironmentInput, here: Here) -> Choice:
    """Return what the newest release that a former environment serves, or has proven, waits for; and troubles of
    ledgers.
    """
    held = dict((*environment.held, *here.held))
    for each in newest_first(environment.known):
        if not is_newer(environment, each) or not any(_is_known_in(former, each) for former in environment.formers):
            continue
        if why := held.get(each.id.digest):
            return Choice(waits=f"{each.id.name} is on hold: {why}")
        if said := missing_proof(environment, each):
            return Choice(
                waits=f"{each.id.name} waits for {'; '.join(said)}",
                until=_until(formers_asking(environment), each),
            )
    reports = [report for former in environment.formers for report in former.clusters]
    troubles = [_not_counting(report) for report in reports if report.trouble]
    return Choice(waits=f"nothing comes in: {'; '.join(troubles)}" if troubles else "")


def _is_known_in(former: Former, release: KnownRelease) -> bool:
    proven = (each for report in former.clusters for each in report.proven)
    is_proven = any(each.is_of(release.id.digest, release.commit) for each in proven)
    return is_proven or any(_serves(report, release) for report in former.clusters)


def _until(formers: Iterable[Former], release: KnownRelease) -> datetime | None:
    """Return when the last of the clusters that serve it may say that it is proven, at the earliest; None where one
    does not serve it.
    """
    moments = list[datetime]()
    for former in formers:
        if not former.clusters:
            return None
        for report in former.clusters:
            if is_proven_in(former, report, release):
                continue
            if not _serves(report, release) or report.since is None:
                return None
            moments.append(report.since + timedelta(seconds=former.seconds))
    return max(moments, default=None)


def not_proven_in_wave(environment: EnvironmentInput, version: str) -> str:
    """Return which clusters of the wave before have not proven a version, in a sentence; empty where all have."""
    lacking = [each for each in environment.wave_before if not _has_proven(each, version, environment.between)]
    if not lacking:
        return ""
    asked = f" for {length(timedelta(seconds=environment.between))}" if environment.between else ""
    said = (
        _not_counting(each) if each.trouble else f"{each.cluster}, whose agent last wrote at {moment(each.written)}"
        for each in lacking
    )
    return f"it is to serve, healthy{asked}, in the wave before: {'; '.join(said)}"


def _has_proven(report: ClusterReport, version: str, seconds: int) -> bool:
    proofs = (each for each in report.proven if each.version == version)
    return not report.trouble and any(each.seconds >= seconds for each in proofs)


def moment(at: datetime | None) -> str:
    """Return a moment as sentences have it."""
    return f"{at:%Y-%m-%d %H:%MZ}" if at else "an unknown time"
