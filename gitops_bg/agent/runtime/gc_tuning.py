"""How often Python looks for garbage in cycles: the caches of thousands of apps are alive, and searched in vain."""

import gc

_YOUNG = 50_000
"""New objects before a collection of the youngest; Python's own 700 costs a fifth of the CPU of a start."""
_OLDER = 20


def collect_less_often() -> None:
    """For the whole process; what is in no cycle is freed at once, as ever."""
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)
