"""Whether the versions that Git names can be told apart, and known again, by their digests.

A document whose version cannot be is as one that cannot be read: what it said last holds, and nothing new starts.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.digest import is_computed_here, same_content, short
from gitops_bg.core.model.version import Snapshot, Version
from gitops_bg.core.world import World

PRIMARY = "primary.yaml"


def accepted(world: World) -> World:
    """Return the world as far as its documents name versions that are known for certain."""
    desired = world.desired
    if trouble := unknown_digest(world):
        world = replace(
            world, desired=replace(desired, primary=Missing.UNREADABLE, problems=(*desired.problems, trouble))
        )
    if both := twins(world):
        unclear = replace(world.desired, target=Missing.UNREADABLE, primary=Missing.UNREADABLE, twins=both)
        world = replace(world, desired=unclear)
    return world


def unknown_digest(world: World) -> Problem | None:
    """What is wrong with a ``primary.yaml`` whose digest has the prefix of another release.

    Such a digest cannot be compared with the content, so the content must be that of a known version (DESIGN §3.3).
    """
    primary = world.desired.primary
    if not primary or is_computed_here(primary.snapshot.digest) or _is_known(world, primary.snapshot):
        return None
    prefix = primary.snapshot.digest.partition(":")[0]
    message = f"its digest begins with {prefix}:, which this release does not compute, and it is no version known here"
    return Problem(PRIMARY, message, field="digest", remedy="run the release that wrote it, or revert the change")


def _is_known(world: World, snapshot: Snapshot) -> bool:
    named = world.record.version(snapshot.digest)
    if named is not None and named.snapshot.text:
        return same_content(named.snapshot, snapshot)
    return any(same_content(one, snapshot) for one in _known(world))


def _known(world: World) -> Iterator[Snapshot]:
    yield from (version.snapshot for version in world.record.versions)
    yield from (view.snapshot for view in world.observed.replica_sets if view.ours)
    if world.target:
        yield world.target.snapshot


def twins(world: World) -> str:
    """The two versions that have the same short digest, in a sentence; empty where there are none.

    Services select pods by it: traffic would go to both.
    """
    seen: dict[str, str] = {}
    for name, digest in _named(world):
        other = seen.setdefault(short(digest), name)
        if other != name:
            return (
                f"{other} and {name} both have the short digest {short(digest)}, by which Services select pods: "
                "change anything in the pod template of target.yaml, such as an annotation"
            )
    return ""


def has_twin(world: World, version: Version) -> bool:
    """Whether another version of the record has the short digest of this one."""
    others = (other.digest for other in world.record.versions if other.digest != version.digest)
    return short(version.digest) in map(short, others)


def _named(world: World) -> Iterator[tuple[str, str]]:
    """Every version that has pods or may get some, by its name in a sentence, and its digest; each once."""
    named = {version.digest: f"v{version.number} ({version.digest})" for version in world.record.versions}
    for file, digest in (("target.yaml", world.target_digest), (PRIMARY, world.primary_digest)):
        if digest:
            named.setdefault(digest, f"that of {file} ({digest})")
    yield from ((name, digest) for digest, name in named.items())
