"""Finds objects by label, and selectors by the objects they match, without looking at all of them.

It must be used inside the store's lock only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

Pair = tuple[str, str, str]
"""Namespace, label, value."""


class LabelIndex:
    """Names of labelled objects, by namespace and label pair."""

    def __init__(self) -> None:
        self._by_pair: defaultdict[Pair, set[str]] = defaultdict(set)

    def add(self, namespace: str, name: str, labels: Mapping[str, str]) -> None:
        """Enter an object."""
        for pair in labels.items():
            self._by_pair[(namespace, *pair)].add(name)

    def discard(self, namespace: str, name: str, labels: Mapping[str, str]) -> None:
        """Take an object out, by the labels it was entered with."""
        for pair in labels.items():
            key = (namespace, *pair)
            names = self._by_pair.get(key, set())
            names.discard(name)
            if not names:
                self._by_pair.pop(key, None)

    def select(self, namespace: str, wanted: Mapping[str, str]) -> set[str]:
        """Return the names of the objects that have all wanted labels."""
        sets = [self._by_pair.get((namespace, *pair), set()) for pair in wanted.items()]
        sets.sort(key=len)
        return set.intersection(*sets) if sets else set()


class SelectorIndex:
    """Names of objects that select by label, each filed under the rarest pair of its selector."""

    def __init__(self) -> None:
        self._by_pair: defaultdict[Pair, dict[str, Mapping[str, str]]] = defaultdict(dict)
        self._filed: dict[tuple[str, str], Pair] = {}

    def add(self, namespace: str, name: str, selector: Mapping[str, str]) -> None:
        """Enter a selector, in place of an earlier one of that name; an empty one selects nothing."""
        self.discard(namespace, name)
        if not selector:
            return
        pairs = [(namespace, *pair) for pair in selector.items()]
        rarest = min(pairs, key=lambda pair: len(self._by_pair.get(pair, ())))
        self._by_pair[rarest][name] = selector
        self._filed[namespace, name] = rarest

    def discard(self, namespace: str, name: str) -> None:
        """Take a selector out."""
        pair = self._filed.pop((namespace, name), None)
        if pair is not None:
            del self._by_pair[pair][name]
            if not self._by_pair[pair]:
                del self._by_pair[pair]

    def matching(self, namespace: str, labels: Mapping[str, str]) -> set[str]:
        """Return the names of the selectors that an object with these labels matches."""
        found = set()
        for pair in labels.items():
            for name, selector in self._by_pair.get((namespace, *pair), {}).items():
                if selector.items() <= labels.items():
                    found.add(name)
        return found
