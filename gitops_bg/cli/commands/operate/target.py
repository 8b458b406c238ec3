"""`set-image` and `undo`: change the target, by a commit on main; every other byte of the file stays as it is.

Neither moves traffic: the version passes every gate, as if it had been pushed. `rollback` moves traffic.
"""

from typing import Annotated

import typer

from gitops_bg.agent.operate.commits import CommitPlan, in_app
from gitops_bg.agent.operate.compare import with_template
from gitops_bg.agent.operate.restore_version import Folder, edits_back, side_of, target_file
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import App, AppOptions, CommitOptions, version_option
from gitops_bg.cli.options.values import a_version_name
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import commit_change, demand_sound
from gitops_bg.cli.repository.proposals import number_named, one_name
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World
from gitops_bg.spec.app.validation import IMAGE_EXAMPLE, trouble_with
from gitops_bg.spec.manifests import edit


def set_image(
    app: App,
    images: Annotated[list[str], typer.Argument(metavar="CONTAINER=IMAGE...", show_default=False)],
    at: AppOptions,
    by: CommitOptions,
) -> None:
    """Change the image of containers in the target; comments and formatting stay. What `check` refuses is not pushed.

    Example: gitops-bg set-image shop/web web=registry.example.com/shop/web:1.4.2
    """
    wanted = dict(map(_pair, images))
    output, person = Output(at.out, dry_run=by.person.dry_run), author(by.person.author)
    with Session(at.git, at.kube, at.place, person, about=apps_named(app), note=output.notice) as session:
        key = session.app_in_git(app)
        filename, places = target_file(session.repository, key), session.repository.places

        def change(data: bytes) -> bytes:
            for container, image in wanted.items():
                data = edit.set_image(data, container, image, places.file(key, filename))
            demand_sound(session.repository, key, {filename: data})
            return data

        said = ", ".join(f"{container}={image}" for container, image in wanted.items())
        made = commit_change(session, output, in_app(places, key, filename, change, f"set image {said}", by.message))
    sentence = f"{key}: committed {made[:10]}, {said}" if made else f"{key}: the target has these images already"
    output.both({"app": str(key), "images": wanted, "commit": made, "changed": bool(made)}, sentence)


def _pair(text: str) -> tuple[str, str]:
    container, equals, image = text.partition("=")
    if not (container and equals and image) or any(sign.isspace() for sign in text):
        raise UsageError(f"{text!r} names no image; write CONTAINER=IMAGE, as in web={IMAGE_EXAMPLE}")
    trouble = trouble_with(image)
    if trouble:
        form = f"[REGISTRY/]NAME[:TAG][@DIGEST], as in {IMAGE_EXAMPLE}"
        raise UsageError(f"{image!r} is no image: {trouble}; write {form}")
    return container, image


def undo(
    app: App,
    at: AppOptions,
    commit: CommitOptions,
    to: Annotated[
        str,
        version_option(
            "v4, 4, a tag, or the beginning of a digest. Default: the version that the target named before; where "
            "somebody else has brought back an older one since the newest was pushed, the target stays."
        ),
    ] = "",
    to_version: Annotated[str, typer.Option("--to-version", parser=a_version_name, hidden=True)] = "",
) -> None:
    """Change the target back to an older version, as a commit. It goes through every gate; `rollback` does not.

    Example: gitops-bg undo shop/web --to v7 -m 'the new search is too slow'
    """
    output, named = Output(at.out, dry_run=commit.person.dry_run), one_name(to, to_version, "--to-version")
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(app), note=output.notice) as session:
        key = session.app_in_git(app)
        facts = session.facts(key)
        world = facts.world(session.now)
        number = number_named(named, world, session)
        done = _undone_by_others(facts, world, by) if number is None else ""
        version = _older(session, facts, world, number) if not done else _target(world)
        shown, made = version.name, ""
        if version.digest != world.target_digest:
            made = _commit(session, output, facts, version, commit.message)
            session.nudge(key)
    hold = world.record.held(version.digest)
    if hold:
        output.notice(f"{shown} is on hold: {hold.why}; `gitops-bg resume {key}` lifts it")
    output.both(
        {"app": str(key), "to": version.number, "digest": version.digest, "commit": made, "changed": bool(made)},
        f"{key}: the target is {shown} again by commit {made[:10]}"
        if made
        else f"{key}: the target is {shown} already{done}",
    )


def _undone_by_others(facts: Facts, world: World, by: tuple[str, str]) -> str:
    """Return who brought an older version back before this command; empty where nobody else did.

    Of two people who undo the same push, the later one has not seen what the earlier one did: the version that the
    target named before is the bad one by then.
    """
    version, target = world.record.version(world.target_digest), facts.desired.target
    newest = max((each.number for each in world.record.versions), default=0)
    if version is None or not isinstance(target, Target) or version.number >= newest or by[1] in target.source.author:
        return ""
    source = target.source
    who = source.author or "somebody else"
    return f": {who} has brought it back by commit {source.commit[:10]}; to have v{newest} again, say --to v{newest}"


def _target(world: World) -> Version:
    version = world.record.version(world.target_digest)
    assert version is not None, "somebody brought it back, and it has a number"
    return version


def _older(session: Session, facts: Facts, world: World, number: int | None) -> Version:
    """Return the version to undo to, with the text of its template. Raises `ObjectNotFound`, `CommandFailed`."""
    if not facts.desired.target:
        raise CommandFailed(
            f"{facts.app}: the target cannot be read; `gitops-bg check` says why, `git revert` brings it back"
        )
    before = _before(world) if number is None else None
    wanted = before.number if before else number
    if wanted is None:
        missing = "older version that was not given up"
        raise ObjectNotFound(f"{facts.app}: neither the record nor main's history has a template of {missing}")
    return with_template(session.repository, world, wanted)


def _before(world: World) -> Version | None:
    """Return the version of the last rollout before the target's that nobody gave up."""
    record = world.record
    others = [each for each in record.versions if each.digest != world.target_digest]
    sound = [each for each in others if not (record.objection(each.digest) or each.aborted or each.failure)]
    return max(sound, key=lambda each: each.rollout, default=None)


def _commit(session: Session, output: Output, facts: Facts, version: Version, why: str) -> str:
    """Commit template and configuration together; return the commit, or empty if main has it already."""
    repository, commit = session.repository, version.source.commit
    past = repository.files(facts.app, commit) if repository.contains(commit) else {}
    path = repository.places.folder(facts.app)
    now, environment = repository.files(facts.app), repository.places.environment_of(facts.app)
    folder = Folder(facts.app, path, facts.config.target_file, now, past, environment)
    contents = side_of(session, facts, version.snapshot, commit).contents
    subject = f"{facts.app.name}: undo to {version.name}"
    return commit_change(session, output, CommitPlan(edits_back(folder, version, tuple(contents)), subject, why))
