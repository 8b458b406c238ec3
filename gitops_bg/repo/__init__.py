"""Git: the mirror, what it says at a commit, promotion commits, the ledger (DESIGN §6).

The agent uses `repository.Repository` and the data it hands out; all other modules are parts of it. The one
package that imports GitPython; nothing here decides, knows Kubernetes, or starts a thread.
"""
