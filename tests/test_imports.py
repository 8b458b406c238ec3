"""Modules form no circle: whoever reads one never needs it to understand what it imports (DESIGN §6).

The import contracts say which room may import which; this holds between the files of one room, too.
"""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = grimp.build_graph("gitops_bg", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 500
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules of a circle
