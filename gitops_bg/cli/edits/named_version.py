"""The version of an app that a person names: from its record, or from main's past if the record has forgotten it."""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.cli.edits.old_primary import version_in
from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.cli.options.version_names import Known, named, number_of, the_one
from gitops_bg.cli.session.session import Session
from gitops_bg.core.checks.policies.facts import described_by
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey, Snapshot, Version
from gitops_bg.core.world import World


def known_as(number: int | None, snapshot: Snapshot) -> Known:
    """Return a version with its images, as far as its template is known."""
    return Known(number, snapshot.digest, (described_by(snapshot.text)[0] or ()) if snapshot.text else ())


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


def _in_the_past(session: Session, app: AppKey) -> Iterator[Known]:
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
