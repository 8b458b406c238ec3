"""`retry`: a new, numbered rollout of the target, as a commit. A hold on it is lifted by that, too."""

from gitops_bg.cli.commits import commit_change, in_app
from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.options import App, AppOptions, CommitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.retrying import next_retry
from gitops_bg.cli.session import Session
from gitops_bg.cli.user_git import author
from gitops_bg.core.actions import label
from gitops_bg.spec.edit import set_retry
from gitops_bg.spec.layout import APP_FILE, app_file


def retry(
    app: App,
    at: AppOptions,
    commit: CommitOptions,
) -> None:
    """Try the target again: a new rollout with nothing of the last one's checks, whatever held it.

    Example: gitops-bg retry shop/web -m 'the database is back'
    """
    output = Output(at.out)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by) as session:
        key = session.app_in_git(app)
        facts = session.facts(key)
        world = facts.world(session.now)
        digest = world.target_digest
        if not digest or digest == world.record.traffic:
            raise NotSo(f"{key}: there is nothing to try again: the target " + ("is live" if digest else "is broken"))
        asked = next_retry(facts, digest, f"{by[0]} <{by[1]}>")
        version = world.record.version(digest)
        shown = label(version.number if version else None, digest)

        def change(data: bytes) -> bytes:
            return set_retry(data, asked, app_file(key, APP_FILE))

        made = commit_change(session, in_app(key, APP_FILE, change, f"retry {shown}", commit.message))
        session.nudge(key)
    output.both(
        {"app": str(key), "digest": digest, "number": asked.number, "commit": made},
        f"{key}: retries {shown} by commit {made[:10]}",
    )
