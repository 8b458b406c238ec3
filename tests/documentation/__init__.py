"""The documentation itself is tested: what cites what, and that what is generated is not stale."""
