"""What a retry of an app says against a hold, by which of the two main had first (`core.delivery.holds`)."""

from dataclasses import replace

from gitops_bg.core.model.git.journal import Retried
from gitops_bg.core.model.version import Source
from gitops_bg.core.world import World


def overrule_retry(world: World, digest: str, decided: Source) -> World:
    """Drop a retry that came into main before a change that speaks against its digest.

    Otherwise a retry that could not be answered yet, of a suspended app, would later answer that change.
    """
    retry, asked = world.spec.retry, world.desired.journal.by(Retried)
    if retry is None or asked is None or retry.digest != digest or retry.number <= world.record.operator.retry:
        return world
    return world.with_part(replace(world.record.operator, retry=retry.number)) if decided.landed_after(asked) else world


def is_wanted_since(world: World, digest: str, decided: Source) -> bool:
    """Whether a retry of a digest came into main after a change that speaks against it, and the record has answered it.

    A new record has answered all existing retries, and learns of the change only afterwards.
    """
    retry, asked = world.spec.retry, world.desired.journal.by(Retried)
    if retry is None or asked is None or retry.digest != digest or retry.number > world.record.operator.retry:
        return False
    return bool(asked.landed_after(decided))
