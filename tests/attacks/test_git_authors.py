"""What an author can put into commits, names and branches: it is read correctly, or becomes one app's problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from tests.attacks.conftest import LARGE, Siege, git_seconds, memory_stays
from tests.support.git.raw_git import RawGit
from tests.support.scenario import App

_NUMBERS = count(1)
HUGE = 20 * 1024 * 1024
"""Bytes of a subject, and of what follows. They cost more than those of a file; who holds them does so three times."""
GIT_READS_IT = 60.0
"""Seconds: each of some twenty commands of git reads the whole commit, and so do those of the test's own user."""

MESSAGES = {
    "a byte 0x01": b"web\x01 1.0\n\n\x01" + b"0" * 40 + b"\n",
    "every control character": bytes(range(1, 32)) + b"\x7f web\n\nbody " + bytes(range(1, 32)),
    "NUL": b"web\0 1.0\n\n\0 this\0\0\0\0\0\0\0 too",
    "line separators": "web \u2028 \u2029 \u0085 \x0b \x0c \x1c \x1d \x1e \r 1.0\n\nbody \u2028".encode(),
    "bytes that are no UTF-8": b"caf\xe9 \xff\xfe \xed\xa0\x80 web",
    "bidi controls": "web \u202e gnp.exe \u2066 \u200f".encode(),
    "nothing": b"",
    "a subject of a megabyte": b"web " * 250_000,
    "what looks like git's own output": b":100644 100644 "
    + b"0" * 40
    + b" "
    + b"1" * 40
    + b" M\tapps/shop/web/target.yaml",
}
AUTHORS = {
    "a byte 0x01": b"A\x01B <a@\x01b>",
    "line separators": "A\u2028B\u0085C <a@b>".encode(),
    "no UTF-8": b"Caf\xe9 <caf\xe9@b>",
    "no mail": b"Ada",
    "nothing": b"",
    "brackets": b"<<>> <<a>",
    "ten thousand letters": b"A" * 10_000 + b" <a@b>",
}
DATES = {
    "the year 100,000": b"3093527980800 +0000",
    "the year 9998": b"253370764800 +0000",
    "beyond 64 bits": b"9" * 40 + b" +0000",
    "before time": b"-99999999999 +0000",
    "a zone of its own": b"1770000000 +99999999",
    "no date": b"",
    "text": b"yesterday noon",
}
HEADERS = {
    "UTF-7, which can write NUL": b"encoding UTF-7\n",
    "UTF-16": b"encoding UTF-16\n",
    "an encoding that nobody knows": b"encoding \xff\x01\n",
    "a signature without an end": b"gpgsig -----BEGIN\n " + b"x" * 100_000 + b"\n",
}


COMMITS: dict[str, dict[str, Callable[[RawGit], bytes]]] = {
    "message": {kind: partial(RawGit.commit, message=message) for kind, message in MESSAGES.items()},
    "author": {kind: partial(RawGit.commit, message=b"web", author=author) for kind, author in AUTHORS.items()},
    "date": {kind: partial(RawGit.commit, message=b"web", when=when) for kind, when in DATES.items()},
    "header": {
        kind: partial(RawGit.commit, message=b"web +AAA-\n\n+AAAAAA-", headers=each) for kind, each in HEADERS.items()
    },
}


@pytest.mark.parametrize("part", COMMITS)
def test_commit_that_brought_a_version_may_say_anything(part: str, siege: Siege) -> None:
    """Whatever it says, its version comes up, and the other app goes on."""
    for kind, commit in COMMITS[part].items():
        tag = f"t{next(_NUMBERS)}"
        siege.world.pull()
        siege.world.remote.write(f"{siege.web.folder}/target.yaml", siege.web.target_yaml(tag))
        siege.git.push(commit(siege.git))
        siege.world.wake()
        siege.web.wait(lambda tag=tag: tag in siege.web.versions(), f"web comes up, whose commit has: {kind}")
    siege.bystander_goes_on()


def test_message_that_is_huge_is_read_as_far_as_it_is_shown(siege: Siege) -> None:
    """Of a commit that takes a push back, for that is where the whole message counts."""
    web = siege.web
    live = web.live_tag()
    web.push_image(f"t{next(_NUMBERS)}")
    web.wait(lambda: web.preview_tag() != live, "the push is carried out")
    siege.world.pull()
    siege.world.remote.write(f"{web.folder}/target.yaml", web.target_yaml(live))
    commit = siege.git.commit(b'Revert "' + b"y" * HUGE + b'"\n\n' + b"x" * HUGE)
    with memory_stays():
        siege.git.push(commit)
        siege.world.wake()
        web.wait(lambda: web.preview_tag() == live, "it is taken back", timeout=GIT_READS_IT)
    siege.bystander_goes_on(GIT_READS_IT)


def _reading(siege: Siege, commit: bytes) -> float:
    """CPU seconds that git takes to read a commit whole."""
    before = git_seconds()
    siege.git.run("rev-parse", commit + b"^{tree}")
    return git_seconds() - before


def _comes_up(siege: Siege, app: App, tag: str, commit: bytes) -> float:
    """CPU seconds that git takes for a push that the remote has, until the agent has nothing more to do."""
    siege.world.wait_idle()
    siege.git.push(commit)
    before = git_seconds()
    siege.world.wake()
    app.wait(lambda: tag in app.versions(), f"{app.name}:{tag} comes up", timeout=GIT_READS_IT)
    siege.world.wait_idle()
    return git_seconds() - before


def test_message_that_is_huge_is_read_a_few_times_and_for_later_pushes_hardly_at_all(siege: Siege) -> None:
    """Found: about twenty commands read it, and fifteen for each push that came next; a command reads it twice."""

    def staged(app: App, message: bytes = b"web") -> tuple[App, str, bytes]:
        tag = f"t{next(_NUMBERS)}"
        siege.world.pull()
        siege.world.remote.write(f"{app.folder}/target.yaml", app.target_yaml(tag))
        return app, tag, siege.git.commit(message)

    usual = max(_comes_up(siege, *staged(app)) for app in (siege.web, siege.api))
    app, tag, commit = staged(siege.web, b"web\n\n" + b"x" * LARGE)
    once = _reading(siege, commit)
    itself = _comes_up(siege, app, tag, commit)
    assert itself < usual + 24 * once, (itself, usual, once)
    another = _comes_up(siege, *staged(siege.api))
    assert another < 2 * usual + 5 * once, (another, usual, once)


BRANCHES = {
    "U+2028": "gitops-bg/promote/{ns}/web\u2028x",
    "U+2028 in one of no app": "feature/a\u2028b",
    "U+0085": "gitops-bg/promote/{ns}/a\u0085b",
    "U+2029, at the end": "gitops-bg/promote/{ns}/web\u2029",
    "another's main": "x\u2028/refs/heads/main",
    "bidi controls": "gitops-bg/promote/{ns}/\u202eweb",
    "deeper than an app": "gitops-bg/promote/{ns}/new/web/x",
    "240 letters": "gitops-bg/promote/{ns}/" + "w" * 200,
    "a ledger of a cluster with a strange name": "gitops-bg/state/te\u2028st",
}


def test_branches_may_have_any_name(siege: Siege) -> None:
    siege.world.pull()
    head = siege.git.run("rev-parse", "HEAD")
    refs = [f"refs/heads/{name.format(ns=siege.world.namespace)}".encode() for name in BRANCHES.values()]
    siege.git.push(head, *refs, b"refs/heads/gitops-bg/promote/x\xff\xe9/y")
    siege.bystander_goes_on()


NAMES = {
    "a line feed": b"apps/%s/web/a\nb.yaml",
    "no UTF-8": b"apps/%s/web/caf\xe9.yaml",
    "U+2028": "apps/%s/web/a\u2028b.yaml".encode(),
    "control characters": b"apps/%s/web/\x01\x1b[31m\x7f.yaml",
    "a bidi control": "apps/%s/web/\u202elmay.yaml".encode(),
}


def test_names_of_files_are_only_names_and_one_that_is_no_utf_8_is_its_apps_problem(siege: Siege) -> None:
    """What the files hold is as wrong as can be, so that each is named in the condition."""
    siege.world.pull()
    blob = siege.git.blob(b"kind: [")
    paths = [name.replace(b"%s", siege.world.namespace.encode()) for name in NAMES.values()]
    for path in paths:
        siege.git.stage(path, blob)
    siege.git.push(siege.git.commit(b"files"))
    siege.world.wake()
    invalid = siege.web.wait_condition("InvalidSpec")
    assert invalid["message"].isprintable()
    for said in ("a\\nb.yaml:", "caf\\xe9.yaml: has a name that is not UTF-8", "\\u2028", "\\x1b[31m", "\\u202e"):
        assert said in invalid["message"]
    siege.bystander_goes_on()

    siege.world.pull()
    siege.git.run("rm", "--quiet", "--cached", *paths)
    siege.git.push(siege.git.commit(b"without them"))
    siege.world.wake()
    siege.web.wait_condition("InvalidSpec", "Absent")


def test_all_of_it_is_outlived_by_a_restart(siege: Siege) -> None:
    siege.outlives_a_restart()
