"""That what the ledger says of an app, or of a group, does not fit what its record knows: the record counts.

Each answer is a sentence, and empty where nothing is wrong.
"""


def unknown_entry(claimed: int, kind: str) -> str:
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
