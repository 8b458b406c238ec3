"""`resume`: ends a suspension and lifts the hold on the target, as one commit."""

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import commit_to_apps
from gitops_bg.cli.edits.proposals import next_retry
from gitops_bg.cli.options.options import AppOptions, Apps, CommitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.write.edits import Edit
from gitops_bg.spec.yaml.edit import set_retry, set_suspend


def resume(apps: Apps, at: AppOptions, commit: CommitOptions) -> None:
    """Go on: remove the suspension, and let the target be promoted again if it is on hold.

    Example: gitops-bg resume shop/web
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.note) as session:
        keys = session.apps_in_git(apps)
        lifted = {key: _lifting(session.facts(key), f"{by[0]} <{by[1]}>", session) for key in keys}
        edits = {key: _resuming(session.app_file(key), lifted[key]) for key in keys}
        made = commit_to_apps(session, output, edits, "resume", commit.message)
        for key in keys:
            session.nudge(key)
    output.each(
        (
            {"app": str(key), "commit": made[key], "changed": bool(made[key]), "holdLifted": bool(lifted[key])},
            _said(key, made[key], lifted[key]),
        )
        for key in keys
    )


def _lifting(facts: Facts, by: str, session: Session) -> Retry | None:
    """Return the retry that lifts the hold on the target, if there is one."""
    digest = facts.world(session.now).target_digest
    return next_retry(facts, digest, by) if facts.record.held(digest) else None


def _resuming(file: str, lifted: Retry | None) -> Edit:
    def change(data: bytes) -> bytes:
        data = set_suspend(data, None, file)
        return set_retry(data, lifted, file) if lifted else data

    return change


def _said(app: AppKey, commit: str, lifted: Retry | None) -> str:
    if not commit:
        return f"{app}: it is neither suspended nor is its target on hold"
    return f"{app}: resumed{', the hold on its target is lifted' if lifted else ''} by commit {commit[:10]}"
