"""Git: the mirror, what it says at a commit, promotion commits, the ledger (DESIGN §6).

The agent uses `repository.Repository` and the data it returns; all other modules are parts of it. This is the one
package that imports GitPython; nothing here decides, knows Kubernetes, or starts a thread.
"""
