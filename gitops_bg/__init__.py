"""gitops-bg: blue-green deployments of Kubernetes workloads out of a Git repository.

`core` decides, the adapters read and write, `agent` runs the loop. See DESIGN §6 for the arrow of imports.
"""

__version__ = "0.1.0"
