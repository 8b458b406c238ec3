"""The condition of main's history: whether main contains all that was seen of it."""

from gitops_bg.core.model.decision import Condition

HISTORY_REWRITTEN = "HistoryRewritten"


def history_rewritten(why: str) -> Condition:
    """One condition of an app or a group; ``why`` is empty where main has all (`core.checks.git.history`)."""
    if why:
        return Condition(HISTORY_REWRITTEN, True, "MainMovedBackwards", why)
    return Condition(HISTORY_REWRITTEN, False, "HistoryKept", "main contains all that was seen of it")
