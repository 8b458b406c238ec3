"""A day with a release group: two services, promoted and rolled back together by one commit."""

from gitops_bg.cli.demo.act import Act, NotAsExpected
from gitops_bg.cli.demo.group_sight import GROUP, STORE, VERSION_HEADER, GroupSight
from gitops_bg.cli.demo.hosting import bare_folder
from gitops_bg.cli.demo.story import Step, Story
from gitops_bg.spec.app.layout import GROUP_FILE, group_folder

_FOLDER = group_folder(GROUP)
_DENIED = "status 500"
"""What a request is told that names a version which has left its path out: denyMode noBackend."""


def deploy(act: Act) -> None:
    """Move the template's example to where it counts: two services come up, and the Gateway leads to them."""
    remote = act.scene.remote
    remote.remove("apps")
    remote.move("examples/groups", "groups")
    act.screen.edited(f"{_FOLDER}/{GROUP_FILE}", "active: v1")
    act.git("add", "--all")
    act.git("commit", "-m", "The store: cart and auth 1.0.0")
    act.push("origin", "main")
    act.expect_first_arrival("1.0.0")
    _expect_stages(act, "v1 Active")
    _expect_answer(act, "/auth", "", "1.0.0")


def add_version(act: Act) -> None:
    """Add a folder, v2, with a new cart: whoever names v2 reaches it, and nobody else does."""
    act.git("pull")
    _add_cart(act, "v1", "v2", tag="2.0.0")
    act.scene.remote.replace(f"{_FOLDER}/v2/cart/routes.yaml", "/old", "/new")
    act.screen.edited(f"{_FOLDER}/v2/cart/routes.yaml", "prefix: /new, instead of /old")
    _commit(act, "v2: cart 2.0.0")
    _expect_stages(act, "v1 Active, v2 Candidate")
    _expect_answer(act, "/cart", "v2", "2.0.0")
    _expect_answer(act, "/auth", "v2", "1.0.0")
    act.expect(f"/old, {VERSION_HEADER}: v2: denied, v2 has left it out", lambda: _is_denied(act, "/old", "v2"))
    act.expect_only("1.0.0")


def promote(act: Act) -> None:
    """Name v2 as active: all its services go live at once, and v1 stays for whoever names it."""
    _activate(act, "v1", "v2")
    act.expect_arrival("2.0.0")
    _expect_stages(act, "v1 Legacy, v2 Active")
    _expect_answer(act, "/cart", "v1", "1.0.0")
    _expect_answer(act, "/auth", "", "1.0.0")


def promote_bad_version(act: Act) -> None:
    """Promote a version with one service that never starts: the whole group stays where it is."""
    act.git("pull")
    _add_cart(act, "v2", "v3", tag="3.0.0-bad")
    _set_active(act, "v2", "v3")
    _commit(act, "v3: cart 3.0.0-bad, active at once")
    act.expect("the group waits for cart-v3", lambda: any("cart-v3" in reason for reason in _group(act).gates))
    act.screen.output("; ".join(_group(act).gates))
    act.expect_only("2.0.0", seconds=1.5)
    act.git("pull")
    act.git("revert", "--no-edit", "HEAD")
    act.push()
    _expect_stages(act, "v1 Legacy, v2 Active")


def roll_back(act: Act) -> None:
    """Revert the promotion of v2, which shows a fault: every service goes back to v1 at once."""
    act.git("pull")
    promotion = act.git("log", "-1", "--format=%h", "--grep=Promote v2")
    act.screen.output(promotion)
    act.git("revert", "--no-edit", promotion)
    act.push()
    act.expect_arrival("1.0.0")
    _expect_stages(act, "v1 Active, v2 Candidate")


def promote_again(act: Act) -> None:
    """Promote v2 once more: it is a candidate again."""
    _activate(act, "v1", "v2")
    act.expect_arrival("2.0.0")
    _expect_stages(act, "v1 Legacy, v2 Active")


GROUP_STORY = Story(
    "gitops-bg demo group: two services behind a Gateway, and one commit that moves both",
    bare_folder,
    (
        Step("A release group: cart and auth come up together", deploy),
        Step("A second version: a folder, reached by a header", add_version),
        Step("Promotion: one line of group.yaml, all services move", promote),
        Step("One service that never starts: the group stays where it is", promote_bad_version),
        Step("Rollback: the promotion is reverted, all services go back", roll_back),
        Step("Promoted again: the version is a candidate as before", promote_again),
    ),
    STORE,
)


def _group(act: Act) -> GroupSight:
    if not isinstance(act.scene.seen, GroupSight):
        raise NotAsExpected("this story needs a release group, and its scene has none")
    return act.scene.seen


def _add_cart(act: Act, source: str, version: str, *, tag: str) -> None:
    remote, target = act.scene.remote, f"{_FOLDER}/{version}/cart/target.yaml"
    remote.copy(f"{_FOLDER}/{source}/cart", f"{_FOLDER}/{version}/cart")
    remote.write_image_of("cart", target, f"registry.example/shop/cart:{tag}")
    act.screen.edited(target, f"image: registry.example/shop/cart:{tag}")


def _activate(act: Act, before: str, version: str) -> None:
    act.git("pull")
    _set_active(act, before, version)
    _commit(act, f"Promote {version}")


def _set_active(act: Act, before: str, version: str) -> None:
    path = f"{_FOLDER}/{GROUP_FILE}"
    act.scene.remote.replace(path, f"active: {before}", f"active: {version}")
    act.screen.edited(path, f"active: {version}")


def _commit(act: Act, message: str) -> None:
    act.git("add", "--all")
    act.git("commit", "-m", message)
    act.push()


def _expect_stages(act: Act, stages: str) -> None:
    def is_so() -> bool:
        return (_group(act).stages, _group(act).phase) == (stages, "Healthy")

    act.expect(f"the group is Healthy: {stages}", is_so)


def _expect_answer(act: Act, path: str, version: str, tag: str) -> None:
    named = f", {VERSION_HEADER}: {version}" if version else ""
    act.expect(f"{path}{named}: {tag} answers", lambda: _group(act).ask(path, version).version == tag)


def _is_denied(act: Act, path: str, version: str) -> bool:
    return _group(act).ask(path, version).failure == _DENIED
