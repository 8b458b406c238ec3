"""Whether what the ledger says of an app fits what its record knows. Where it does not, the record counts.

Each answer is a sentence, and empty where nothing is wrong. Positions of another epoch cannot be compared.
"""

from gitops_bg.core.world import World


def written_by_others(world: World) -> str:
    """Why the ledger's file of the app is not believed: it is none, or somebody else wrote it."""
    return world.observed.git.ledger_doubt


def ahead(world: World) -> str:
    """That the ledger claimed to have what the record never told."""
    claimed = world.record.git.ledger_claimed
    if not claimed:
        return ""
    return (
        f"the ledger says that entry {claimed} of this app was told, which this record never gave out: "
        "somebody else wrote there, or the record is one of an earlier backup"
    )


def behind(world: World) -> str:
    """That the ledger lost what it had."""
    git, record = world.observed.git, world.record
    told = record.sequence - len(record.ledger)
    if git.ledger_epoch != record.epoch or git.ledger_sequence >= told:
        return ""
    return (
        f"the ledger has this app's entries up to {git.ledger_sequence}, and had them up to {told}: "
        "somebody set its branch back"
    )
