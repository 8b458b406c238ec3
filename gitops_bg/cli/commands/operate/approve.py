"""`approve`: approves a version by a signature, or withdraws that. Needs Git alone; the forge may be down.

The approval is an empty commit on the app's own branch. The agent decides by main's signers whether it counts.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author, signing_key
from gitops_bg.cli.edits.named_version import known_as, one_name
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import App, AppOptions, CommitOptions, version_option
from gitops_bg.cli.options.version_names import a_version_name, the_one
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.core.checks.policies.facts import described_by
from gitops_bg.core.groups.branches import AppOrGroup
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.version import AppKey, Snapshot
from gitops_bg.core.names import approvals_branch
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PEOPLE_FILE, SIGNERS_FILE
from gitops_bg.spec.policies.signers import nobody, trusted


@dataclass(frozen=True, slots=True)
class Choice:
    """A version that can be approved."""

    snapshot: Snapshot
    what: str
    """Where Git has it."""
    number: int | None = None
    """Its number, where Git says it."""

    @property
    def digest(self) -> str:
        """Its digest."""
        return self.snapshot.digest

    @property
    def images(self) -> str:
        """Its images."""
        return ", ".join(described_by(self.snapshot.text)[0] or ()) if self.snapshot.text else ""


def approve(
    app: App,
    at: AppOptions,
    commit: CommitOptions,
    to: Annotated[
        str,
        version_option(
            "A tag, the beginning of a digest, or the number of what serves. Default: the one that is next."
        ),
    ] = "",
    digest: Annotated[str, typer.Option("--digest", parser=a_version_name, hidden=True)] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take your approval of it back.")] = False,
) -> int:
    """Approve the next version with your SSH key: a signed, empty commit on the app's branch of approvals.

    It counts if your key is in policies/allowed_signers, under a name that policies/people.yaml gives to you. The key
    is --signing-key, else git's user.signingkey with gpg.format ssh. Exit 1 if it does not count.

    Example: gitops-bg approve shop/web -m 'checked on the preview'
    """
    output, by = Output(at.out, dry_run=commit.person.dry_run), author(commit.person.author)
    git = replace(at.git, signing_key=signing_key(at.git.signing_key))
    with Session(git, at.kube, at.place, by, about=apps_named(app), note=output.note) as session:
        named = session.app_in_git(app)
        choice = _chosen(named, _choices(session, named), one_name(to, digest, "--digest"))
        repository = session.repository
        repository.follow_approvals(True)
        repository.poll()
        shown = label(None, choice.digest)
        if withdraw:
            given = given_by(repository, named, choice.digest, shown, by[1])
            output.would(f"{named}: would withdraw your approval {given[:10]} of {shown}")
            made = repository.withdraw_approval(named, given, reason=commit.message)
            done = f"{named}: your approval {given[:10]} of {shown} is withdrawn by commit {made[:10]}"
        else:
            output.would(f"{named}: would approve {shown} on {approvals_branch(named)}")
            made = repository.approve(named, choice.digest, label=shown, reason=commit.message)
            what = ", ".join(filter(None, [shown, choice.images, choice.what]))
            done = f"{named}: approved {what}; commit {made[:10]} on {approvals_branch(named)}"
        why_not = why_it_does_not_count(repository, made)
    data = {"app": str(named), "digest": choice.digest, "commit": made, "branch": approvals_branch(named)}
    output.both({**data, "withdrawn": withdraw, "counts": not why_not}, done)
    if why_not and not output.json:
        output.line(f"it does not count: {why_not}", "red")
    return NOT_SO if why_not else OK


def _choices(session: Session, app: AppKey) -> list[Choice]:
    """Return the versions in Git, the next one first."""
    reading = session.catalog([app.namespace], records=()).reading  # no cluster has to be there
    entry, branch = reading.found(app), reading.promotions.get(app)
    config = entry.config if entry else None
    target = config.target.snapshot if config and config.target else None
    primary = config.primary if config and config.primary else None
    found = []
    if branch and branch.digest:
        known = target if target and target.digest == branch.digest else Snapshot(branch.digest, "")
        found.append(Choice(known, "offered by its promotion branch"))
    found += [Choice(target, "the version of its target")] if target else []
    found += [Choice(primary.snapshot, "named by its primary.yaml", primary.version)] if primary else []
    return found


def _chosen(app: AppKey, choices: list[Choice], name: str) -> Choice:
    """Return the version of this name, or the next one. Raises `ObjectNotFound`, `UsageError`."""
    if not choices:
        raise ObjectNotFound(f"{app}: Git names no version that could be approved")
    if not name:
        return choices[0]
    digest = the_one(name, (known_as(each.number, each.snapshot) for each in choices), app).digest
    return next(each for each in choices if each.digest == digest)


def given_by(repository: Repository, app: AppOrGroup, digest: str, shown: str, email: str) -> str:
    """Return somebody's newest approval of a version that is not withdrawn. Raises `CommandFailed`."""
    said = repository.approvals(app)
    taken_back = {each.withdraws for each in said} | repository.withdrawn_approvals()
    mine = [each.commit for each in said if each.digest == digest and not {each.commit, each.content} & taken_back]
    facts = repository.commit_facts(mine)
    for commit in mine:
        if commit in facts and facts[commit].committer.email.lower() == email.lower():
            return commit
    raise CommandFailed(f"{app}: {email} has no approval of {shown} to withdraw")


def why_it_does_not_count(repository: Repository, commit: str) -> str:
    """Return why the signature does not count by the present main; empty where it does."""
    files = trusted(repository.text_file(SIGNERS_FILE), repository.text_file(PEOPLE_FILE))
    if files.signers is None:
        return f"main has no {SIGNERS_FILE}; have somebody add it with your key"
    signature = repository.signatures([commit], files.signers)[commit]
    if signature.why_not:
        return f"{signature.why_not}; have somebody add your key to {SIGNERS_FILE} of main"
    return "" if files.signer(signature.principal) else nobody(signature.principal)
