"""What somebody can push to the ledger branch of a cluster: the agent reports it, writes again, and blocks nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.ledger import state_branch
from gitops_bg.repo.ledger.ledger_file import (
    LedgerBatch,
    LedgerDocument,
    Position,
    PublishedEntry,
    SubjectState,
    VersionState,
    parse,
    render,
)
from gitops_bg.repo.write.commits import ledger_message, of_entry
from tests.attacks.conftest import LARGE, Siege, memory_stays
from tests.support.scenario import STATE_BRANCH
from tests.support.waiting import eventually

_NUMBERS = count(1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENTRY = LedgerEntry(3, NOW, Event.DEPLOYED, to_version=1, to_digest="0" * 64)
LIVE = VersionState(1, "0" * 64, since=NOW)
SOUND = LedgerDocument(SubjectState(1, 1, LIVE, LIVE), Position("e", 3), (PublishedEntry("e", ENTRY),))
ODD: tuple[Any, ...] = (
    None, True, 10**30, 1.5, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
    float("inf"), float("nan"), "", "\x01\u2028", "\ud800", [], [None], [[]], {}, {"a": 1},
)  # fmt: skip


def _odd_files() -> Iterator[tuple[str, bytes]]:
    """A sound file with one value of another type or size in it, at any place."""
    for path in _places(json.loads(render(SOUND))):
        for odd in ODD:
            value = json.loads(render(SOUND))
            *above, last = path
            within = value
            for step in above:
                within = within[step]
            within[last] = odd
            yield f"{path}: {odd!r}", json.dumps(value).encode()


def _places(value: Any) -> Iterator[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in steps:
        yield (step,)
        yield from ((step, *rest) for rest in _places(below))


def test_file_is_taken_for_what_it_is_or_refused_and_what_is_taken_can_be_written_and_shown() -> None:
    files = list(_odd_files())
    assert len(files) > 350
    refused = 0
    for kind, text in files:
        try:
            document = parse(text)
        except ValueError:
            refused += 1
            continue
        try:
            _use(document)
        except Exception as error:
            raise AssertionError(f"taken, and of no use: {kind}") from error
    assert refused > len(files) / 2


def _use(document: LedgerDocument) -> None:
    """All that is done with a file that was taken."""
    app = AppKey("shop", "web")
    fresh = LedgerBatch("e", (replace(ENTRY, sequence=2**40),), SubjectState())
    now, entries = document.taking(fresh)
    assert parse(render(now)).position == now.position
    assert document.memory is not None
    state_branch.render({app: state_branch.row_of(document)}, "test").decode()
    ledger_message(
        [of_entry(app, entry) for entry in (*entries, *(told.entry for told in document.history))], "test"
    ).encode()


CONTENTS: dict[str, bytes] = {
    "an infinity": render(SOUND).replace(b'"sequence": 3', b'"sequence": 1e999'),
    "brackets": b"[" * 20_000,
    "null": b"null",
    "a number": b"3",
    "a text": b'"x"',
    "a list": b"[]",
    "a map": b"{}",
    "nothing": b"",
    "no UTF-8": b"\xff\xfe\x00",
    "half a character": render(SOUND).replace(b'"e"', rb'"\ud800"'),
}


def _nobody_writes(siege: Siege) -> None:
    """The ledger has everything of both apps: the agent's next commit would mend what is attacked."""
    for each in (siege.web, siege.api):
        each.wait(each.is_told, f"the ledger has everything of {each.name}")


def _push(siege: Siege, mode: bytes, blob: bytes) -> None:
    """Put an object in the place of the ledger file of `web`, as a commit on top of what is there."""
    git, namespace = siege.git, siege.world.namespace
    git.run("fetch", "--quiet", "origin", f"+refs/heads/{STATE_BRANCH}:refs/attack")
    kind = {b"040000": b"tree", b"160000": b"commit"}.get(mode, b"blob")
    folder = _replaced(siege, f"refs/attack:{namespace}", mode + b" " + kind + b" " + blob + b"\tweb.json")
    root = _replaced(siege, "refs/attack", b"040000 tree " + folder + b"\t" + namespace.encode())
    parent = git.run("rev-parse", "refs/attack")
    git.push(git.commit(b"an attack", tree=root, parents=(parent,)), f"refs/heads/{STATE_BRANCH}".encode())
    siege.world.wake()


def _replaced(siege: Siege, tree: str, entry: bytes) -> bytes:
    """The tree with another entry of the same name in it."""
    others = [
        each
        for each in siege.git.run("ls-tree", "-z", tree).split(b"\0")
        if each and each.partition(b"\t")[2] != entry.partition(b"\t")[2]
    ]
    return siege.git.run("mktree", "-z", "--missing", stdin=b"".join(each + b"\0" for each in (*others, entry)))


def _is_mended(siege: Siege) -> bool:
    remote, file = siege.world.remote, f"{siege.world.namespace}/web.json"
    try:
        if int(remote.run("cat-file", "-s", f"{STATE_BRANCH}:{file}", cwd=remote.bare)) == LARGE:
            return False
        text = remote.show(STATE_BRANCH, file)
        return parse((text or "").encode()).position.sequence > 0
    except ValueError:
        return False


def _next_event_mends(siege: Siege) -> None:
    """The next commit of the agent, of whichever app, which says so."""
    tag = f"ledger{next(_NUMBERS)}"
    siege.web.push_image(tag)
    siege.web.wait_offered(tag)
    eventually(lambda: _is_mended(siege), what="the file is written again")
    remote, path = siege.world.remote, f"{siege.world.namespace}/web.json"
    before = siege.git.run("rev-parse", "refs/attack").decode().strip()
    said = remote.run("log", "--format=%B", f"{before}..{STATE_BRANCH}", "--", path, cwd=remote.bare)
    assert f"Written anew: {path}: not a ledger file: " in said
    assert said.replace("\n", "").isprintable()


@pytest.mark.parametrize("kind", CONTENTS)
def test_nonsense_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="not a ledger file"):
        parse(CONTENTS[kind])


@pytest.mark.parametrize("kind", ["an infinity", "null", "no UTF-8"])
def test_nonsense_in_an_apps_file_is_said_in_the_ledger_and_written_again(kind: str, siege: Siege) -> None:
    _nobody_writes(siege)
    _push(siege, b"100644", siege.git.blob(CONTENTS[kind]))
    # Before anybody pushes: the agent's next commit, of whichever app, mends the file.
    said = siege.web.wait_condition("LedgerTrusted", "False")
    assert (said["reason"], "not a ledger file: " in said["message"]) == ("WrittenByOthers", True)
    assert siege.api.condition("LedgerTrusted")["status"] == "Absent"
    siege.bystander_goes_on()
    _next_event_mends(siege)
    siege.web.wait_condition("LedgerTrusted", "Absent")


def test_what_is_no_file_is_said_and_replaced(siege: Siege) -> None:
    git = siege.git
    small, link = git.blob(b"{}"), git.blob(b"/etc/passwd")
    folder = git.tree((b"100644", b"web.json", small), (b"100644", b"x", small))
    for mode, blob in ((b"040000", folder), (b"120000", link), (b"160000", b"1" * 40), (b"100755", small)):
        _nobody_writes(siege)
        _push(siege, mode, blob)
        siege.bystander_goes_on()
        _next_event_mends(siege)


def test_file_of_100_megabytes_is_not_read(siege: Siege) -> None:
    _nobody_writes(siege)
    blob = siege.git.blob(bytes(LARGE))
    with memory_stays():
        _push(siege, b"100644", blob)
        siege.bystander_goes_on()
        _next_event_mends(siege)


def test_branch_may_hold_other_things_where_folders_and_the_readme_are(siege: Siege) -> None:
    """The namespace is a file, README.md a folder: the branch is written over as far as it is ours."""
    git = siege.git
    _nobody_writes(siege)
    small, namespace = git.blob(b"x"), siege.world.namespace.encode()
    entries = (
        (b"README.md", b"40000", git.tree((b"100644", b"x", small))),
        (namespace, b"100644", small),
    )
    git.run("fetch", "--quiet", "origin", f"+refs/heads/{STATE_BRANCH}:refs/attack")
    tree = git.tree(*((mode, name, blob) for name, mode, blob in sorted(entries)))
    parent = git.run("rev-parse", "refs/attack")
    git.push(git.commit(b"an attack", tree=tree, parents=(parent,)), f"refs/heads/{STATE_BRANCH}".encode())
    siege.world.wake()
    siege.bystander_goes_on()
    siege.web.push_image("both")
    siege.web.wait_offered("both")
    eventually(lambda: _is_mended(siege), what="the file is written again")


def test_all_of_it_is_outlived_by_a_restart(siege: Siege) -> None:
    _nobody_writes(siege)
    _push(siege, b"100644", siege.git.blob(CONTENTS["an infinity"]))
    siege.outlives_a_restart()
    _next_event_mends(siege)


@pytest.mark.parametrize("sequence", [10**30, 1000])
def test_a_position_with_the_agent_s_own_epoch_hides_nothing_that_happens(siege: Siege, sequence: int) -> None:
    web, remote, path = siege.web, siege.world.remote, f"{siege.world.namespace}/web.json"
    web.wait_told()
    value = json.loads(remote.show(STATE_BRANCH, path) or "")
    assert value["epoch"] == web.record.epoch
    forged = json.dumps({**value, "sequence": sequence}).encode()
    _push(siege, b"100644", siege.git.run("hash-object", "-w", "--stdin", stdin=forged).strip())
    web.wait_condition("LedgerTrusted", "False")
    before, tag = len(web.ledger()), f"ledger{next(_NUMBERS)}"
    web.push_image(tag)
    web.wait_offered(tag)
    eventually(lambda: len(web.ledger()) > before and web.is_told(), what="what happened is told")
    assert web.ledger()[-1]["To"].endswith(web.digest(tag))


def test_a_ledger_that_was_set_back_is_said_and_goes_on(siege: Siege) -> None:
    web, remote = siege.web, siege.world.remote
    tag = f"ledger{next(_NUMBERS)}"
    web.push_image(tag)
    web.wait_offered(tag)
    web.wait_told()
    siege.world.wait_idle()
    path = f"{siege.world.namespace}/web.json"
    last = remote.run("log", "-1", "--format=%H", STATE_BRANCH, "--", path, cwd=remote.bare).strip()
    siege.git.push(
        remote.run("rev-parse", f"{last}~1", cwd=remote.bare).strip().encode(), f"refs/heads/{STATE_BRANCH}".encode()
    )
    siege.world.wake()
    assert web.wait_condition("LedgerTrusted", "False")["reason"] == "Behind"
    siege.bystander_goes_on()
    web.push_image(f"{tag}-next")
    web.wait_offered(f"{tag}-next")
    web.wait_condition("LedgerTrusted", "Absent")
