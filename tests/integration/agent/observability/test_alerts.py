"""Changed alerts in Git reach the apps that use them; other apps are not queued (DESIGN §8)."""

from __future__ import annotations

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.reconcile.facts import config_for
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.version import AppKey
from tests.fixtures.repos import texts
from tests.integration.agent import three_apps
from tests.integration.agent.three_apps import API, CART, WEB
from tests.support.git.remote import GitRemote


def provider(name: str, channel: str = "a") -> str:
    head = f"apiVersion: gitops-bg.dev/v1alpha1\nkind: AlertProvider\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{type: slack, channel: {channel}, secretRef: {{name: chat}}}}\n"


def use(remote: GitRemote, app: AppKey, name: str) -> None:
    said = f"  analysis: {{alerts: [{{name: team, providerRef: {{name: {name}}}}}]}}\n"
    three_apps.say(remote, app, said)


def publish(remote: GitRemote, **files: str) -> None:
    three_apps.publish(remote, "alerts", files)


def default(remote: GitRemote, name: str) -> None:
    said = f"alerts: [{{name: everybody, providerRef: {{name: {name}}}}}]\n"
    remote.write("gitops-bg.yaml", texts.SETTINGS.decode() + said)


def hooks(catalog: Catalog, app: AppKey) -> tuple[Hook, ...]:
    return three_apps.spec_of(catalog, app).strategy.hooks


def test_a_change_of_a_provider_reaches_the_apps_that_use_it_and_no_others(catalog: Catalog, remote: GitRemote) -> None:
    use(remote, WEB, "chat")
    use(remote, API, "other")
    publish(remote, chat=provider("chat"), other=provider("other"))
    assert catalog.refresh().dirty == {WEB, API, CART}
    untouched = [catalog.reading.entry(app) for app in (API, CART)]
    publish(remote, chat=provider("chat", "b"), third=provider("third"))
    assert catalog.refresh().dirty == {WEB}
    assert '"channel":"b"' in hooks(catalog, WEB)[0].request
    assert [catalog.reading.entry(app) for app in (API, CART)] == untouched


def test_a_provider_that_goes_breaks_its_users_and_one_that_comes_heals_them(
    catalog: Catalog, remote: GitRemote
) -> None:
    use(remote, WEB, "chat")
    publish(remote)
    catalog.refresh()
    (broken,) = hooks(catalog, WEB)
    assert "there is no AlertProvider chat" in broken.unknown
    publish(remote, chat=provider("chat"))
    assert catalog.refresh().dirty == {WEB}
    assert hooks(catalog, WEB)[0].unknown == ""


def test_a_change_of_the_default_alerts_reaches_every_app(catalog: Catalog, remote: GitRemote) -> None:
    use(remote, WEB, "chat")
    publish(remote, chat=provider("chat"))
    catalog.refresh()
    assert hooks(catalog, API) == ()
    default(remote, "chat")
    publish(remote)
    catalog.refresh()
    assert [hook.name for app in (WEB, API, CART) for hook in hooks(catalog, app)] == ["team", "everybody", "everybody"]
    publish(remote, chat=provider("chat", "b"))
    assert catalog.refresh().dirty == {WEB, API, CART}


def test_broken_settings_leave_the_default_alerts_as_they_were(catalog: Catalog, remote: GitRemote) -> None:
    default(remote, "chat")
    publish(remote, chat=provider("chat"))
    catalog.refresh()
    remote.write("gitops-bg.yaml", "kind: Nonsense\n")
    publish(remote)
    catalog.refresh()
    assert catalog.reading.settings_problems
    assert [hook.name for hook in hooks(catalog, API)] == ["everybody"]


def test_who_hears_of_every_app_hears_of_one_whose_files_were_never_good(catalog: Catalog, remote: GitRemote) -> None:
    default(remote, "chat")
    remote.write("apps/shop/new/app.yaml", "kind: Nonsense\n")
    publish(remote, chat=provider("chat"))
    catalog.refresh()
    new = AppKey("shop", "new")
    entry = catalog.reading.entry(new)
    assert entry is not None
    config = config_for(new, entry.config, None, catalog.reading.alerting)
    assert config is not None
    assert config.spec is not None
    assert [hook.name for hook in config.spec.strategy.hooks] == ["everybody"]
