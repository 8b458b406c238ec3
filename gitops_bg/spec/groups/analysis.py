"""From the analysis blocks of group.yaml, and the templates, to the core's plans. Problems have file and line.

Templates are those of apps. In place of the digests of one pod template, a group gives the names of its versions.
"""

from collections.abc import Mapping

from gitops_bg.core.model.analysis import LATEST, STABLE
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.analysis.plans import PlanReader, Plans, unknown_plan
from gitops_bg.spec.analysis.templates import Library
from gitops_bg.spec.groups.models import GroupSpec
from gitops_bg.spec.yaml.reader import Document

TEMPLATES_UNREAD = "the AnalysisTemplates were not read"


def plans_of_group(group: GroupKey, spec: GroupSpec, document: Document, library: Library | None) -> Plans:
    """The plans of a group; a plan that cannot be made says so, so that nothing is promoted without it.

    Without a ``library`` every plan is unknown.
    """
    blocks = (spec.pre_promotion_analysis, spec.post_promotion_analysis)
    if library is None:
        before, after = (unknown_plan(block, TEMPLATES_UNREAD) for block in blocks)
        return Plans(before, after)
    reader = PlanReader(group.namespace, document, library, hashes={}, own=own_args(group))
    names = ("prePromotionAnalysis", "postPromotionAnalysis")
    before, after = (reader.argo(block, ("spec", name)) for block, name in zip(blocks, names, strict=True))
    return Plans(before, after, frozenset(reader.names), tuple(dict.fromkeys(reader.problems)))


def own_args(group: GroupKey) -> Mapping[str, str]:
    """The args that a template may declare without a value, and nobody has to give. The versions are placeholders,
    which the core fills in when a run begins.

    >>> sorted(own_args(GroupKey("shop", "store")))
    ['formerVersion', 'group', 'namespace', 'version']
    """
    return {"group": group.name, "namespace": group.namespace, "version": LATEST, "formerVersion": STABLE}
