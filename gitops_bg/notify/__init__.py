"""Notifications: the place for them. What happened is in the ledger entries of `core.record`."""
