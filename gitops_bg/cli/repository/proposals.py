"""A person's promotion, rollback or retry through Git: which version that names, and one change of primary.yaml, to
main or, if main refuses, on a branch.

The core decides which version it is, and carries a retry out; the agent moves the traffic.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.errors import OK, REFUSED, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import GitOptions, OverrideOptions
from gitops_bg.cli.options.values import NamedVersion, named, number_of, the_one
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import follow_push
from gitops_bg.cli.repository.restore_version import side_of, version_in
from gitops_bg.cli.repository.user_git import signing_key
from gitops_bg.cli.session.session import Session
from gitops_bg.core.checks.policy_facts import described_by
from gitops_bg.core.checks.ports import services_of
from gitops_bg.core.errors import InvalidInput, WorldChanged
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.policy_rules import Policy, Proof
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey, Snapshot, Version, version_name
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import PrimaryChange, PrimaryResult
from gitops_bg.spec.app.primary import ConfigurationChange, configuration_changes, configuration_in, render_primary
from gitops_bg.spec.codec import to_json

# --- the version that a person names: from its record, or from main's past if the record has forgotten it ---


def known_as(number: int | None, snapshot: Snapshot) -> NamedVersion:
    """Return a version with its images, as far as its template is known."""
    return NamedVersion(number, snapshot.digest, (described_by(snapshot.text)[0] or ()) if snapshot.text else ())


def number_named(text: str, world: World, session: Session | None) -> int | None:
    """Return the number of the version that ``text`` means; None where it is empty.

    Without a session the record alone is asked. A number that nobody knows comes back as it is: the caller says what it
    is missing. Raises `ObjectNotFound`, `UsageError`.
    """
    if not text:
        return None
    app = world.spec.app
    here = [known_as(each.number, world.snapshot(each)) for each in world.record.versions]
    number = number_of(text)
    if named(text, here) or number is None:
        past = [] if session is None or named(text, here) else list(_in_the_past(session, app))
        return the_one(text, [*past, *here], app).number
    return number


def with_template(session: Session, world: World, number: int) -> Version:
    """Return the version of a number with the text of its template. Raises `ObjectNotFound` where nobody has that."""
    app, version = world.spec.app, world.record.numbered(number)
    if version is not None and world.snapshot(version).text:
        return replace(version, snapshot=world.snapshot(version))
    content = session.repository.find_primary(app, version=number)
    if content is None:
        raise ObjectNotFound(f"{app}: neither the record nor main's history has a template of version {number}")
    return version_in(content, app, session.repository.places.folder(app))


def _in_the_past(session: Session, app: AppKey) -> Iterator[NamedVersion]:
    """Yield every version that main's primary.yaml ever named; one that nobody can read any more is none."""
    folder = session.repository.places.folder(app)
    for content in session.repository.primaries(app):
        try:
            version = version_in(content, app, folder)
        except InvalidInput:
            continue
        yield known_as(version.number, version.snapshot)


def one_name(to: str, old: str, option: str) -> str:
    """Return the version that was named by ``--to`` or by the option's former name. Raises `UsageError` for both."""
    if to and old:
        raise UsageError(f"--to and {option} are the same: give one of them")
    return to or old


def next_retry(facts: Facts, digest: str, by: str) -> Retry:
    """Return the request for a new rollout of ``digest``, with an unused number: it lifts a hold, or restarts a failed
    rollout.
    """
    last = max(facts.record.operator.retry, facts.spec.retry.number if facts.spec.retry else 0)
    return Retry(digest, last + 1, by, facts.record.sequence)


# --- in spite of which policies ---


def with_signature(git: GitOptions, overriding: OverrideOptions) -> GitOptions:
    """Return the options with the person's SSH key, where they ask for a signed commit. Raises `UsageError`."""
    return replace(git, signing_key=signing_key(git.signing_key)) if overriding.sign else git


def demand_overridable(
    subject: object, policies: Iterable[Policy], names: Sequence[str], reason: str, email: str, *, signed: bool
) -> tuple[str, ...]:
    """Return the names of the policies to override, each of which permits this person, or a signature that the agent
    checks (policies.md §6). ``policies`` are those for the ``subject``. Raises `UsageError` with the reason otherwise.
    """
    known = {policy.name: policy for policy in policies}
    if names and not one_line(reason):
        raise UsageError("--override needs a --reason: it is in the ledger for all to see")
    for name in names:
        policy = known.get(name)
        if policy is None:
            raise UsageError(f"no policy {name} is for {subject}; known: {', '.join(known) or 'none'}")
        if policy.override is None:
            raise UsageError(f"{name} has no override: it can be changed only, in policies/")
        if policy.override.proof is Proof.SIGNED:
            if not signed:
                raise UsageError(f"{name} is overridden by a signature only: add --sign")
        elif email.lower() not in policy.override.emails:
            by = ", ".join(policy.override.by)
            raise UsageError(
                f"{name} may be overridden by {by} only, and {email} is none of them (policies/people.yaml)"
            )
    return tuple(dict.fromkeys(names))


# --- the change of primary.yaml ---


@dataclass(frozen=True, slots=True)
class Proposed:
    """The result of a change. ``branch`` is where it is offered, because main refused it for ``refused``."""

    commit: str
    changed: bool
    branch: str = ""
    refused: str = ""


def content_of(session: Session, facts: Facts, world: World, version: Version) -> bytes:
    """Return the primary.yaml of a version: its checked snapshot, and the content of its ConfigMaps and Secrets."""
    full = replace(version, snapshot=world.snapshot(version))
    contents = side_of(session, facts, version.snapshot, version.source.commit).contents
    folder = session.repository.places.folder(facts.app)
    return render_primary(facts.app, full, contents, services_of(world, version), folder).encode()


def change_to(  # noqa: PLR0913 - by keyword
    facts: Facts,
    world: World,
    version: Version,
    event: Event,
    *,
    by: str,
    reason: str,
    content: bytes,
    overrides: tuple[str, ...] = (),
) -> PrimaryChange[AppKey]:
    """Return the change to primary.yaml = ``version``: ``content``, made now (`content_of`) or as main had it before.

    ``overrides`` are the policies that the request overrides.
    """
    active = world.active
    movement = Movement(
        subject=facts.app,
        event=event,
        from_version=active.number if active else None,
        from_digest=active.digest if active else "",
        to_version=version.number,
        to_digest=version.digest,
        from_tag=active.tag if active else "",
        to_tag=version.tag,
        source_commit=version.source.commit,
        rollout=version.rollout,
        by=by,
        reason=reason,
        overrides=overrides,
    )
    return PrimaryChange(content, facts.decided_from, movement, facts.offered_head)


def propose(session: Session, output: Output, change: PrimaryChange[AppKey]) -> Proposed:
    """Commit the change to main; if main refuses, put it on the promotion branch.

    Notify the agent and update the clone.
    """
    output.writes()
    proposed = _pushed(session, change)
    session.nudge(change.subject)
    follow_push(session, output, proposed.commit if proposed.changed and not proposed.branch else "")
    return proposed


def _pushed(session: Session, change: PrimaryChange[AppKey]) -> Proposed:
    app, repository = change.subject, session.repository
    try:
        outcome = repository.promotions.commit([change])[app]
    except PushRefused as error:
        outcome = repository.promotions.offer([change])[app]
        _demand_current(outcome.result, change)
        return Proposed(outcome.commit, outcome.result is PrimaryResult.COMMITTED, promotion_branch(app), str(error))
    _demand_current(outcome.result, change)
    return Proposed(outcome.commit, outcome.result is PrimaryResult.COMMITTED)


def _demand_current(result: PrimaryResult, change: PrimaryChange[AppKey]) -> None:
    if result is PrimaryResult.SUPERSEDED:
        raise WorldChanged(f"{change.subject}: somebody touched its files in main meanwhile; look, and run it again")


def changed_by(facts: Facts, change: PrimaryChange[AppKey]) -> tuple[ConfigurationChange, ...]:
    """Return how the change's ConfigMaps and Secrets differ from those in main's primary.yaml."""
    primary = facts.desired.primary
    refs = primary.snapshot.configuration if primary else ()
    before = [each for each in facts.config.configuration if each.ref in refs]
    return configuration_changes(before, configuration_in(change.content, change.subject))


def report_proposal(
    output: Output,
    proposed: Proposed,
    change: PrimaryChange[AppKey],
    branch: str,
    asked: str = "",
    waits: Sequence[str] = (),
    changes: Sequence[ConfigurationChange] = (),
) -> int:
    """Print the result, what else was ``asked`` and what traffic still ``waits`` for; return the exit code.

    ``changes`` are those of configuration.
    """
    movement = change.movement
    if output.json:
        more = {"waitsFor": list(waits), "configuration": [to_json(each) for each in changes]}
        output.data(_json(proposed, change) | more | ({"asked": asked} if asked else {}))
    elif proposed.branch:
        print_offer(output, proposed, branch)
    else:
        shown = version_name(movement.to_version, movement.to_digest, movement.to_tag)
        done = f"by commit {proposed.commit[:10]}" if proposed.changed else "already"
        output.line(f"{change.subject}: {branch} names {shown} {done}{f'; {asked}' if asked else ''}", "green")
        for wait in waits:
            output.line(f"traffic waits: {wait}", "yellow")
    for each in changes if proposed.changed else ():
        output.line(f"it changes: {each}")
    return REFUSED if proposed.branch else OK


def print_offer(output: Output, proposed: Proposed, branch: str) -> None:
    """Print why ``branch`` did not take the change, where it is instead, and how people merge it."""
    output.line(f"{branch} takes no commit from you: {proposed.refused}", "yellow")
    output.line(f"offered on {proposed.branch}; merge it: git merge --no-ff origin/{proposed.branch}", "yellow")


def _json(proposed: Proposed, change: PrimaryChange[AppKey]) -> dict[str, Any]:
    movement = change.movement
    return {
        "app": str(change.subject),
        "event": movement.event,
        "from": movement.from_version,
        "to": movement.to_version,
        "digest": movement.to_digest,
        "commit": proposed.commit,
        "changed": proposed.changed,
        "offeredOn": proposed.branch or None,
        "refused": proposed.refused or None,
    }
