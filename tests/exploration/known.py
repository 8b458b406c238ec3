"""Promises that are known to be broken: kinds of those whose stories are files that are expected to fail."""

from tests.exploration.search import kind_of
from tests.exploration.story import stories

KNOWN = frozenset(kind_of(told.story.promise) for told in stories() if told.unmended)
