"""A small Kubernetes for demos and tests: API server, controllers and traffic in one process.

Imports nothing of the rest, so that it cannot bend the truth to the agent's liking.
"""

from gitops_bg.sandbox.sandbox import Sandbox

__all__ = ["Sandbox"]
