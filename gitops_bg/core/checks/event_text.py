"""What chats get of a message about an app beside its sentence: facts and links (flagger.md §3.7)."""

from gitops_bg.core.model.hooks import Alert, OutboxMessage
from gitops_bg.core.world import World


def alert_of(world: World, told: OutboxMessage) -> Alert:
    """What chats get of a message."""
    return Alert(told.severity, told.message, told.at, facts_of(world, told), links_of(world, told))


def facts_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """The facts beside the sentence, by title; for a forgotten version only its digest."""
    version = world.record.version(told.checksum)
    source = version.source if version else None
    every = (
        ("App", str(world.spec.app)),
        ("Version", f"v{version.number}" if version else ""),
        ("Digest", told.checksum),
        ("Commit", source.commit if source else ""),
        ("Author", source.author if source else ""),
        ("Explain", f"gitops-bg explain {world.spec.app}"),
    )
    return tuple((title, value) for title, value in every if value)


def links_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """The pages of a message, by title: the pull request, where it offers the version that the message is about."""
    pull = world.observed.git.pull
    if pull is None or not pull.url or not told.checksum or not pull.offer.startswith(f"{told.checksum}@"):
        return ()
    return ((f"Pull request #{pull.number}", pull.url),)
