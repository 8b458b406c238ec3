"""Changed AnalysisTemplates in Git reach the apps that use them; other apps are not queued (DESIGN §8)."""

from typing import Any

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.core.model.analysis import AnalysisStage, MeasurementPlan
from gitops_bg.core.model.version import AppKey
from tests.fixtures.repos import texts
from tests.integration.agent import three_apps
from tests.integration.agent.three_apps import API, CART, WEB
from tests.support.git.remote import GitRemote
from tests.support.scenario import App

SPEC = "{args: [{name: path, value: /}], metrics: [{name: up, provider: {web: {url: 'http://127.0.0.1:9%s'}}}]}"


def template(name: str, path: str = "/a") -> str:
    head = f"apiVersion: gitops-bg.dev/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {SPEC % path}\n"


def use(remote: GitRemote, app: AppKey, name: str) -> None:
    said = f"      prePromotionAnalysis: {{templates: [{{templateName: {name}}}]}}\n"
    three_apps.say(remote, app, said)


def publish(remote: GitRemote, **files: str) -> None:
    three_apps.publish(remote, "analysis", files)


def plan(catalog: Catalog, app: AppKey) -> MeasurementPlan:
    found = three_apps.spec_of(catalog, app).strategy.pre_promotion_analysis
    assert found is not None
    return found


def test_a_change_of_a_template_reaches_the_apps_that_use_it_and_no_others(catalog: Catalog, remote: GitRemote) -> None:
    use(remote, WEB, "up")
    use(remote, API, "other")
    publish(remote, up=template("up"), other=template("other"))
    assert catalog.refresh().dirty == {WEB, API, CART}
    untouched = [catalog.reading.entry(app) for app in (API, CART)]

    publish(remote, up=template("up", "/b"))
    assert catalog.refresh().dirty == {WEB}
    assert "/b" in plan(catalog, WEB).metrics[0].query
    assert [catalog.reading.entry(app) for app in (API, CART)] == untouched
    assert all(catalog.reading.entry(app) is before for app, before in zip((API, CART), untouched, strict=True))

    publish(remote, unused=template("unused"))
    assert catalog.refresh().dirty == frozenset()


def test_an_app_that_waits_for_a_template_hears_of_it(catalog: Catalog, remote: GitRemote) -> None:
    use(remote, WEB, "up")
    publish(remote)
    catalog.refresh()
    assert "there is no AnalysisTemplate up" in plan(catalog, WEB).unknown

    publish(remote, up=template("up"))
    assert catalog.refresh().dirty == {WEB}
    assert plan(catalog, WEB).unknown == ""

    remote.remove("analysis/up.yaml")
    publish(remote)
    assert catalog.refresh().dirty == {WEB}
    assert plan(catalog, WEB).unknown


def test_an_app_that_uses_a_template_no_more_hears_of_it_no_more(catalog: Catalog, remote: GitRemote) -> None:
    use(remote, WEB, "up")
    use(remote, API, "up")
    publish(remote, up=template("up"))
    catalog.refresh()
    remote.write(f"apps/{WEB}/app.yaml", texts.app("shop", "web").decode())
    remote.remove(f"apps/{API}")
    publish(remote, up=template("up", "/b"))
    assert catalog.refresh().dirty == {WEB, API}

    publish(remote, up=template("up", "/c"))
    assert catalog.refresh().dirty == frozenset()


def analysed(web: App, **strategy: Any) -> None:
    web.strategy["prePromotionAnalysis"] = {"templates": [{"templateName": "up"}]}
    web.strategy |= strategy
    web.configure()


def test_missing_template_is_the_apps_condition_and_its_live_version_serves_on(web: App) -> None:
    analysed(web)
    invalid = web.wait_condition("InvalidSpec")
    assert f"{web.folder}/app.yaml:" in invalid["message"]
    assert "there is no AnalysisTemplate up in analysis/" in invalid["message"]
    web.push_image("v2")
    web.scenario.wait_idle()
    assert (web.live_tag(), set(web.versions())) == ("v1", {"v1"})

    web.scenario.publish("Add the template", {"analysis/up.yaml": template("up")})
    web.wait_condition("InvalidSpec", "Absent")
    web.wait(lambda: web.record.run(AnalysisStage.PRE), "the analysis has begun")
    assert (web.live_tag(), web.offered()) == ("v1", False)


def test_changed_template_counts_from_the_next_run(web: App) -> None:
    def measured() -> str:
        run = web.record.run(AnalysisStage.PRE)
        return run.metrics[0].metric.query if run and run.metrics else ""

    web.scenario.publish("Add the template", {"analysis/up.yaml": template("up")})
    analysed(web)
    web.push_image("v2")
    web.wait(lambda: "/a" in measured(), "the analysis has begun")
    web.scenario.publish("Change the template", {"analysis/up.yaml": template("up", "/b")})
    web.scenario.wait_idle()
    assert "/a" in measured()

    web.push_image("v3")
    web.wait(lambda: "/b" in measured(), "the next one begins")
