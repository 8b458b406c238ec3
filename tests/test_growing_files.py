"""What tests read of a log that is still written to: whole lines, each once."""

from __future__ import annotations

from pathlib import Path

from tests.support.growing_files import GrowingFile


def test_a_line_is_read_once_and_not_before_it_is_whole(tmp_path: Path) -> None:
    log = GrowingFile(tmp_path / "log")
    assert log.lines() == [], "nobody has written yet"
    with (tmp_path / "log").open("wb", buffering=0) as file:
        file.write('one\n{"half": "ü'.encode()[:-1])
        assert log.lines() == ["one"]
        file.write("ü".encode()[-1:] + b'"}\n\n')
        assert log.lines() == ['{"half": "ü"}', ""]
    assert log.lines() == []
