"""Git: the mirror, snapshots of desired state, promotion commits and the ledger."""
