"""Whether what the ledger says of an app, or of a group, fits what its record knows. Where not, the record counts.

Each answer is a sentence, and empty where nothing is wrong. Positions of another epoch cannot be compared.
"""

from gitops_bg.core.world import World


def written_by_others(world: World) -> str:
    """Why the ledger's file of the app is not believed: it is none, or somebody else wrote it."""
    return world.observed.git.ledger_doubt


def ahead(world: World) -> str:
    """That the ledger claimed to have what the record never told."""
    return never_told(world.record.ledger_claimed, "app")


def behind(world: World) -> str:
    """That the ledger lost what it had."""
    git, record = world.observed.git, world.record
    told = record.sequence - len(record.ledger)
    is_gone = git.ledger_is_known and not git.ledger_epoch
    return set_back(git.ledger_sequence, told, "app") if is_gone or git.ledger_epoch == record.epoch else ""


def never_told(claimed: int, kind: str) -> str:
    """That the ledger claimed to have an entry which the record of an app, or of a group, never gave out."""
    if not claimed:
        return ""
    return (
        f"the ledger says that entry {claimed} of this {kind} was told, which this record never gave out: "
        "somebody else wrote there, or the record is one of an earlier backup"
    )


def set_back(sequence: int, told: int, kind: str) -> str:
    """That the ledger has fewer entries of an app, or a group, than it had."""
    if sequence >= told:
        return ""
    if not sequence:
        return (
            f"the ledger has no entry of this {kind}, and had them up to {told}: "
            "somebody deleted its branch, or it is another one"
        )
    return (
        f"the ledger has this {kind}'s entries up to {sequence}, and had them up to {told}: "
        "somebody set its branch back"
    )
