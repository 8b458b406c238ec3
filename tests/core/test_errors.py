"""What a boundary makes of an exception: who must act."""

import errno

import pytest

from gitops_bg.core.errors import Exhausted, InternalError, Refused, Transient, guarded


@pytest.mark.parametrize(
    ("struck", "kind", "said"),
    [
        (ValueError("x\n"), InternalError, "looking: a bug of the agent: ValueError: x\\n"),
        (
            OSError(errno.ENOENT, "gone"),
            InternalError,
            "looking: a bug of the agent: FileNotFoundError: [Errno 2] gone",
        ),
        (RuntimeError("others"), InternalError, "looking: a bug of the agent: RuntimeError: others"),
        (OSError(errno.EMFILE, "full"), Exhausted, "there are no more file descriptors for this process: "),
        (OSError(errno.ENFILE, "full"), Exhausted, "there are no more file descriptors on this machine: "),
        (OSError(errno.ENOSPC, "full"), Exhausted, "there are no more free blocks on the disk: "),
        (OSError(errno.EDQUOT, "full"), Exhausted, "there are no more blocks in the quota of the disk: "),
        (OSError(errno.ENOMEM, "full"), Exhausted, "there are no more bytes of memory: "),
        (OSError(errno.EAGAIN, "full"), Exhausted, "there are no more processes or threads: "),
        (
            RuntimeError("can't start new thread"),
            Exhausted,
            "looking: there are no more threads: can't start new thread",
        ),
    ],
)
def test_an_exception_is_a_bug_or_something_that_has_run_out(
    struck: Exception, kind: type[Transient], said: str
) -> None:
    with pytest.raises(Transient) as told, guarded("looking"):
        raise struck
    assert type(told.value) is kind
    assert said in str(told.value)
    assert told.value.__cause__ is struck


@pytest.mark.parametrize("struck", [Refused("no"), MemoryError()])
def test_what_has_a_meaning_already_passes(struck: Exception) -> None:
    with pytest.raises(type(struck)) as told, guarded("looking"):
        raise struck
    assert told.value is struck
