"""`retry`: a new, numbered rollout of the target, as a commit. It also lifts a hold on the target."""

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import commit_to_apps
from gitops_bg.cli.edits.proposals import next_retry
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import AppOptions, Apps, CommitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.write.edits import Edit
from gitops_bg.spec.yaml.edit import set_retry


def retry(apps: Apps, at: AppOptions, commit: CommitOptions) -> None:
    """Try the target again: start a new rollout with fresh checks, whatever held or paused the last one.

    Example: gitops-bg retry shop/web -m 'the database is back'
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.note) as session:
        asked = {key: _asked(session, key, f"{by[0]} <{by[1]}>") for key in session.apps_in_git(apps)}
        edits = {key: _retrying(session.app_file(key), request) for key, (request, _) in asked.items()}
        what = ", ".join(dict.fromkeys(shown for _, shown in asked.values()))
        made = commit_to_apps(session, output, edits, f"retry {what}", commit.message)
        for key in asked:
            session.nudge(key)
    output.each(
        (
            {"app": str(key), "digest": request.digest, "number": request.number, "commit": made[key]},
            f"{key}: retries {shown} by commit {made[key][:10]}",
        )
        for key, (request, shown) in asked.items()
    )


def _asked(session: Session, app: AppKey, by: str) -> tuple[Retry, str]:
    """Return the retry of an app's target, and the name of that version. Raises `CommandFailed`."""
    facts = session.facts(app)
    world = facts.world(session.now)
    digest = world.target_digest
    run = world.record.run(AnalysisStage.POST)
    is_paused = run is not None and run.paused and run.digest == digest
    if not digest or (digest == world.record.routing.traffic and not is_paused):
        raise CommandFailed(
            f"{app}: there is nothing to try again: the target " + ("is live" if digest else "is broken")
        )
    version = world.record.version(digest)
    return next_retry(facts, digest, by), label(version.number if version else None, digest)


def _retrying(file: str, request: Retry) -> Edit:
    return lambda data: set_retry(data, request, file)
