"""Whatever a manifest says instead of what its schema asks for, an import ends: with files, or with places."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from gitops_bg.spec.importing.convert import convert
from tests.spec.importing.test_flagger import KEDA_REF, OWN_QUERY, canary, scaled
from tests.spec.importing.test_oam import CONTAINERIZED, FILES, POD_SPEC, component
from tests.spec.importing.texts import DEPLOYMENT, EMPTY, EXAMPLES, indented

SETS = [
    [*yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())]
    for name in ("rollout-by-hand", "rollout-with-analyses", "canary-by-shares", "metric-templates")
]
SETS.append([yaml.safe_load(each) for each in (POD_SPEC, component(CONTAINERIZED + indented(FILES, 6)))])
SETS.append([yaml.safe_load(each) for each in (DEPLOYMENT, canary(KEDA_REF % OWN_QUERY % "r"), scaled("r"))])
ODD = some.sampled_from([None, True, 0, -1, "", "{{ x }}", "a\nb", [], {}, [[]], [None], {"a": None}, [{"name": 1}]])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.data())
def test_an_odd_value_anywhere_is_a_file_or_a_problem_with_a_place(data: some.DataObject) -> None:
    documents: Any = copy.deepcopy(SETS[data.draw(some.integers(0, len(SETS) - 1))])
    for _ in range(data.draw(some.integers(1, 2))):
        known = [each for each in places(documents) if each]
        *parents, last = known[data.draw(some.integers(0, len(known) - 1))]
        at = documents
        for part in parents:
            at = at[part]
        at[last] = copy.deepcopy(data.draw(ODD))
    text = yaml.safe_dump_all(documents).encode()
    found = convert([("odd.yaml", text)], EMPTY, "test")
    assert not (found.files and found.problems)
    assert all(each.file == "odd.yaml" and each.line for each in (*found.problems, *found.listed))
