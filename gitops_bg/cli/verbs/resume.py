"""`resume`: ends a suspension and lifts the hold on the target, as one commit."""

from gitops_bg.agent.gathering import Facts
from gitops_bg.cli.commits import commit_change, in_app
from gitops_bg.cli.options import App, AppOptions, CommitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.retrying import next_retry
from gitops_bg.cli.session import Session
from gitops_bg.cli.user_git import author
from gitops_bg.core.spec import Retry
from gitops_bg.spec.edit import set_retry, set_suspend
from gitops_bg.spec.layout import APP_FILE, app_file


def resume(
    app: App,
    at: AppOptions,
    commit: CommitOptions,
) -> None:
    """Go on: remove the suspension, and let the target be promoted again if it is on hold.

    Example: gitops-bg resume shop/web
    """
    output = Output(at.out)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by) as session:
        key = session.app_in_git(app)
        facts = session.facts(key)
        lifted = _lifting(facts, f"{by[0]} <{by[1]}>", session)
        file = app_file(key, APP_FILE)

        def change(data: bytes) -> bytes:
            data = set_suspend(data, None, file)
            return set_retry(data, lifted, file) if lifted else data

        made = commit_change(session, in_app(key, APP_FILE, change, "resume", commit.message))
        session.nudge(key)
    done = "resumed" + (", the hold on its target is lifted" if lifted else "")
    output.both(
        {"app": str(key), "commit": made, "changed": bool(made), "holdLifted": bool(lifted)},
        f"{key}: {done} by commit {made[:10]}" if made else f"{key}: it is neither suspended nor is its target on hold",
    )


def _lifting(facts: Facts, by: str, session: Session) -> Retry | None:
    """What lifts the hold on the target, if there is one."""
    digest = facts.world(session.now).target_digest
    return next_retry(facts, digest, by) if facts.record.held(digest) else None
