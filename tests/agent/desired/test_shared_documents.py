"""What apps share is read within a limit for all of it: files that cost too much are a problem, the others are read."""

from __future__ import annotations

import threading

import pytest

from gitops_bg.agent.desired import document_caches
from gitops_bg.agent.desired.document_caches import _cheap_ones
from gitops_bg.agent.runtime import cpu
from gitops_bg.core.model.desired import Problem


def costly(files: object) -> None:
    """Takes as many hundredths of a second of CPU as the file's content says."""
    (content,) = files.values()  # type: ignore[attr-defined]
    until = cpu._cpu_of(threading.get_ident()) + int(content) / 100
    while cpu._cpu_of(threading.get_ident()) < until:
        pass


def test_files_that_cost_too_much_are_left_out_one_by_one_and_once_the_time_of_all_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_caches, "_FOR_A_FILE", 0.3)
    monkeypatch.setattr(document_caches, "LONGEST", 1.0)
    files = {"a": b"1", "b": b"1000", "c": b"1", **{f"d{number}": b"20" for number in range(9)}}
    found = dict(_cheap_ones(costly, files))
    assert (found["a"], found["c"]) == (b"1", b"1")
    assert isinstance(found["b"], Problem)
    assert "takes more than 0.3 s of CPU" in str(found["b"])
    left_out = [path for path, content in found.items() if isinstance(content, Problem)]
    assert "d8" in left_out, "the others have used up the time"
    assert "d0" not in left_out
