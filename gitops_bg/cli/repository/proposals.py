"""A person's promotion, rollback or retry through Git: which version that names, and one change of primary.yaml, to
main or, if main refuses, on a branch.

The core decides which version it is, and carries a retry out; the agent moves the traffic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gitops_bg.agent.operate.primary import Proposed, commit_or_offer
from gitops_bg.agent.operate.restore_version import version_in
from gitops_bg.cli.errors import OK, REFUSED, UsageError
from gitops_bg.cli.options.options import GitOptions, OverrideOptions
from gitops_bg.cli.options.values import NamedVersion, named, number_of, the_one
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import follow_push
from gitops_bg.cli.repository.user_git import signing_key
from gitops_bg.cli.session.session import Session
from gitops_bg.core.checks.policy_facts import described_by
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey, Snapshot
from gitops_bg.core.world import World
from gitops_bg.repo.write.promotion import PrimaryChange
from gitops_bg.spec.app.primary import ConfigurationChange
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


# --- in spite of which policies ---


def with_signature(git: GitOptions, overriding: OverrideOptions) -> GitOptions:
    """Return the options with the person's SSH key, where they ask for a signed commit. Raises `UsageError`."""
    return replace(git, signing_key=signing_key(git.signing_key)) if overriding.sign else git


# --- the change of primary.yaml ---


def propose(session: Session, output: Output, change: PrimaryChange[AppKey]) -> Proposed:
    """Commit the change to main; if main refuses, put it on the promotion branch.

    Notify the agent and update the clone.
    """
    output.writes()
    proposed = commit_or_offer(session.repository, change)
    session.nudge(change.subject)
    follow_push(session, output, proposed.commit if proposed.changed and not proposed.branch else "")
    return proposed


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
    if output.json:
        more = {"waitsFor": list(waits), "configuration": [to_json(each) for each in changes]}
        output.data(_json(proposed, change) | more | ({"asked": asked} if asked else {}))
    elif proposed.branch:
        print_offer(output, proposed, branch)
    else:
        output.line(f"{proposed.says(change, branch)}{f'; {asked}' if asked else ''}", "green")
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
