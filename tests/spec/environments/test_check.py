"""`check` builds every environment of a repository, and tells each mistake once, in whichever environments it is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gitops_bg.spec.app.check import Checked, check_repository
from tests.spec.environments.test_folder import OVERLAY, SHARED, released
from tests.spec.environments.test_load import TEXT

SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
WEB = {f"apps/shop/web/{name}": text for name, text in SHARED.items()}
WHOLE = {
    "gitops-bg.yaml": SETTINGS,
    "environments.yaml": TEXT,
    **WEB,
    "apps/shop/web/dev/overlay.yaml": "{}\n",
    "apps/shop/web/staging/release.yaml": released(),
    "apps/shop/web/prod/release.yaml": released(),
    "apps/shop/web/prod/overlay.yaml": OVERLAY,
}


def checked(files: Mapping[str, str | None]) -> Checked:
    return check_repository((path, text.encode()) for path, text in files.items() if text is not None)


def problems(files: Mapping[str, str | None]) -> list[str]:
    return [str(each) for each in checked(files).problems]


def test_a_repository_with_three_environments_has_no_problem() -> None:
    assert problems(WHOLE) == []


def test_without_the_file_a_folder_in_an_apps_is_what_it_was() -> None:
    files = {path: text for path, text in WHOLE.items() if path != "environments.yaml"}
    found = problems(files)
    assert found
    assert all("is not in the folder of an app, so nobody reads it" in each for each in found)
    plain = {path: text for path, text in files.items() if path.count("/") < 4}
    assert problems(plain) == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"environments.yaml": TEXT.replace("[staging-1]", "[dev-1]")},
            ["environments.yaml:8: environments[1].clusters[0]: dev-1 is named in dev, too"],
        ),
        ({"apps/shop/web/prdo/app.yaml": "{}"}, ["apps/shop/web/prdo: is the folder of no environment"]),
        ({"apps/shop/web/primary.yaml": "{}"}, ["apps/shop/web/primary.yaml: is in no environment's folder"]),
        (
            {"apps/shop/web/prod/overlay.yaml": "spec: {replicas: many}\n"},
            ["apps/shop/web/prod/overlay.yaml:1: spec.replicas: expected a whole number"],
        ),
        ({"apps/shop/web/target.yaml": "kind: Pod\n"}, ["apps/shop/web/target.yaml:1: apiVersion: the target must be"]),
        (
            {"apps/shop/web/app.yaml": WEB["apps/shop/web/app.yaml"].replace("activeService", "activeServise")},
            ["apps/shop/web/app.yaml:5: spec.strategy.blueGreen.activeServise"],
        ),
        (
            {"apps/shop/web/staging/release.yaml": released().replace("web:1", "web:3")},
            ["apps/shop/web/staging/release.yaml:9: digest: what is below it has the digest"],
        ),
        (
            {"apps/shop/api/app.yaml": WEB["apps/shop/web/app.yaml"].replace("web", "api")},
            ["apps/shop/api: is in no environment of the repository"],
        ),
        ({"apps/shop/web/prod/more/x.yaml": "{}"}, ["apps/shop/web/prod/more/x.yaml: is not in the folder of an app"]),
    ],
)
def test_each_mistake_is_told_once(files: Mapping[str, str], said: list[str]) -> None:
    found = problems({**WHOLE, **files})
    assert [each for each, start in zip(found, said, strict=False) if each.startswith(start)] == found, found
    assert len(found) == len(said)


def test_two_apps_may_have_the_same_service_in_different_environments_and_not_in_one() -> None:
    other = {f"apps/shop/api/{name}": text.replace("name: web,", "name: api,") for name, text in SHARED.items()}
    in_dev = {**WHOLE, **other, "apps/shop/api/dev/overlay.yaml": "{}\n"}
    assert any("the Service web belongs to shop/api already" in each for each in problems(in_dev))
    apart = {path: text for path, text in in_dev.items() if path != "apps/shop/web/dev/overlay.yaml"}
    apart = {path: text for path, text in apart.items() if not path.endswith("staging/release.yaml")}
    assert not any("belongs to" in each for each in problems({**apart, "apps/shop/web/prod/release.yaml": None}))


def notes(files: Mapping[str, str | None]) -> list[str]:
    return [str(each) for each in checked(files).notes if "environment" in str(each) or "releases" in str(each)]


def test_two_pull_requests_on_one_way_are_noted() -> None:
    (note,) = notes(WHOLE)
    assert note.startswith(
        "environments.yaml:13: environments[2].enter: releases enter prod by a pull request, and web"
    )


def test_an_app_that_begins_later_and_one_that_waits_for_ever_are_noted() -> None:
    skips = {**WHOLE, "apps/shop/web/staging/release.yaml": None}
    assert any("takes releases that staging has proven, and the app is not in staging" in each for each in notes(skips))
    late = {**WHOLE, "apps/shop/web/dev/overlay.yaml": None, "apps/shop/web/staging/release.yaml": None}
    late |= {"apps/shop/web/prod/release.yaml": None}
    assert any("prod is its first environment: what is pushed to its target" in each for each in notes(late))
