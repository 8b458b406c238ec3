"""A folder is a room: whoever looks for a line of code reads no list of more than twenty files."""

import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
MOST = 20


def test_no_folder_has_more_than_twenty_files_of_python() -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    paths = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    rooms = Counter(str(PurePosixPath(path).parent) for path in paths if path and (ROOT / path).exists())
    assert len(rooms) > 50, "these are not all"
    assert not {room: files for room, files in rooms.items() if files > MOST}
