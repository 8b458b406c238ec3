"""A repository of three apps in one namespace, for tests of which changes reach which of them. No cluster, no agent."""

from __future__ import annotations

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey
from tests.fixtures.repos import texts
from tests.support.git.remote import GitRemote

WEB, API, CART = AppKey("shop", "web"), AppKey("shop", "api"), AppKey("shop", "cart")


def write_apps(remote: GitRemote) -> None:
    """The settings and the folders of all three, not committed yet."""
    remote.write("gitops-bg.yaml", texts.SETTINGS.decode())
    for app in (WEB, API, CART):
        for path, content in texts.folder(app.namespace, app.name).items():
            remote.write(path, content.decode())


def say(remote: GitRemote, app: AppKey, lines: str) -> None:
    """Have an app's ``app.yaml`` say more, before its ``promotion``; not committed yet."""
    text = texts.app(app.namespace, app.name).decode()
    remote.write(f"apps/{app}/app.yaml", text.replace("  promotion:", lines + "  promotion:"))


def publish(remote: GitRemote, folder: str, files: dict[str, str]) -> None:
    """Write files by name, without their ending, and push all that was written."""
    for name, text in files.items():
        remote.write(f"{folder}/{name}.yaml", text)
    remote.commit("Change something")
    remote.push()


def spec_of(catalog: Catalog, app: AppKey) -> AppSpec:
    """What the catalog says of an app; it must say something."""
    entry = catalog.reading.entry(app)
    assert entry is not None
    assert entry.config.spec is not None
    return entry.config.spec
