"""What the files of a group promote: the content that people approve, and what main would say after a merge."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.groups.content import active_in, as_merged, content_of, promoted_by
from gitops_bg.spec.groups.load import File, load_group

STORE = GroupKey("shop", "store")


def group(active: str, more: str = "") -> bytes:
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: ReleaseGroup\nmetadata: {name: store, namespace: shop}\n"
    return f"{head}spec:\n  active: {active}\n{more}".encode()


FILES: dict[str, File] = {
    "group.yaml": group("v2"),
    "v1/cart/target.yaml": b"a: 1\n",
    "v2/cart/target.yaml": b"a: 2\n",
    "v2/auth/target.yaml": b"a: 2\n",
}
SAME = {
    "what the agent writes": {"v2/cart/primary.yaml": b"digest: x\n"},
    "another version": {"v1/cart/target.yaml": b"a: 9\n"},
    "a version whose name begins alike": {"v20/cart/target.yaml": b"a: 9\n"},
    "another field of group.yaml": {"group.yaml": group("v2", "  archiveSize: 3\n")},
}
ANOTHER = {
    "a file of a service": {"v2/cart/target.yaml": b"a: 3\n"},
    "a new file": {"v2/cart/config.yaml": b"a: 3\n"},
    "a new service": {"v2/search/target.yaml": b"a: 2\n"},
    "another version is named": {"group.yaml": group("v1")},
}
UNKNOWN: dict[str, dict[str, File]] = {
    "group.yaml is broken": {"group.yaml": b"spec: ["},
    "group.yaml cannot be read": {"group.yaml": Problem("group.yaml", "is a link")},
    "a file of the version cannot be read": {"v2/cart/target.yaml": Problem("target.yaml", "is a link")},
    "there is no such version": {"group.yaml": group("v9")},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_what_is_no_part_of_the_version_leaves_its_content(change: dict[str, bytes]) -> None:
    assert promoted_by({**FILES, **change}) == promoted_by(FILES)


@pytest.mark.parametrize("change", ANOTHER.values(), ids=ANOTHER.keys())
def test_each_part_of_the_version_is_part_of_its_content(change: dict[str, bytes]) -> None:
    found = promoted_by({**FILES, **change})
    assert found not in (None, promoted_by(FILES))


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_cannot_be_read_is_no_content(change: dict[str, File]) -> None:
    assert promoted_by({**FILES, **change}) is None


def test_a_content_is_told_in_full_with_the_name_of_its_version() -> None:
    found = promoted_by(FILES)
    assert found == f"v2@{content_of(FILES, 'v2')}"
    assert len(found) == len("v2@") + 64
    moved = {**FILES, "v2/cart/target.yaml": b"", "v2/cart/target.yaml2": b"a: 2\n"}
    assert promoted_by(moved) != found


def test_only_a_text_names_a_version() -> None:
    found = [active_in(text) for text in (b"", b"[]", b"spec: 1", b"spec: {active: 2}", b"spec: {active: v2}")]
    assert found == ["", "", "", "", "v2"]


# --- after a merge ---------------------------------------------------------------------------------------------------

SERVICE = b"apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: 80}]}\n"
STORED: dict[str, File] = {
    "group.yaml": group("v1"),
    **{f"{name}/cart/service.yaml": SERVICE for name in ("v1", "v2", "v3")},
}


def merged(after: dict[str, File], main: dict[str, File] | None = None) -> tuple[str, int, list[str]]:
    """The active version, the size of the archive and the versions after the merge."""
    found = as_merged(load_group(STORE, main or STORED, "c").desired, STORE, STORED, after)
    assert found.spec is not None
    return found.spec.active, found.spec.archive_size, sorted(found.versions)


def test_a_merge_names_a_version_and_the_size_of_the_archive() -> None:
    after = {**STORED, "group.yaml": group("v2", "  archiveSize: 4\n")}
    assert merged(after) == ("v2", 4, ["v1", "v2", "v3"])


def test_a_merge_asks_for_a_version_once_more() -> None:
    after = {**STORED, "group.yaml": group("v1", "  retry: {digest: v1-0123456789abcdef0123, number: 2}\n")}
    found = as_merged(load_group(STORE, STORED, "c").desired, STORE, STORED, after)
    assert found.spec is not None
    assert found.spec.retry is not None
    assert (found.spec.retry.digest, found.spec.retry.number) == ("v1-0123456789abcdef0123", 2)


def test_a_merge_leaves_what_main_says_by_now_of_what_the_branch_did_not_change() -> None:
    main = {**STORED, "group.yaml": group("v1", "  archiveSize: 3\n  suspend: {reason: freeze, by: ada}\n")}
    after = {**STORED, "group.yaml": group("v2")}
    found = as_merged(load_group(STORE, main, "c").desired, STORE, STORED, after)
    assert found.spec is not None
    assert found.spec.suspend is not None
    assert (found.spec.active, found.spec.archive_size, found.spec.suspend.reason) == ("v2", 3, "freeze")
    resumed = as_merged(load_group(STORE, main, "c").desired, STORE, main, {**main, "group.yaml": group("v1")})
    assert resumed.spec is not None
    assert resumed.spec.suspend is None


def test_a_merge_removes_the_folders_that_the_branch_removed_and_no_newer_one() -> None:
    after = {path: file for path, file in STORED.items() if not path.startswith("v3/")}
    newer = {**STORED, "v4/cart/service.yaml": SERVICE}
    assert merged(after, newer) == ("v1", 1, ["v1", "v2", "v4"])
    left_behind = {**after, "v3/cart/primary.yaml": b"digest: x\n"}
    assert merged(left_behind, newer) == ("v1", 1, ["v1", "v2", "v4"])


def test_a_branch_with_a_mistake_says_which_and_main_s_own_comes_after_that() -> None:
    main = load_group(STORE, STORED, "c").desired
    broken = as_merged(main, STORE, STORED, {**STORED, "group.yaml": b"spec: ["})
    assert (broken.spec, broken.problems[0].file) == (None, "groups/shop/store/group.yaml")
    invalid = load_group(STORE, {**STORED, "group.yaml": group("v9")}, "c").desired
    found = as_merged(invalid, STORE, STORED, STORED)
    assert (found.spec, found.problems) == (None, invalid.problems)
