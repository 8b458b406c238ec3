"""The condition of a hold: whether what is asked for is not promoted until somebody says so."""

from gitops_bg.core.model.decision import Condition

ON_HOLD = "OnHold"


def on_hold(why: str) -> Condition:
    """One condition of an app or a group; ``why`` is empty where nothing is on hold."""
    return Condition(ON_HOLD, bool(why), "Hold" if why else "NoHold", why or "what is asked for is not on hold")
