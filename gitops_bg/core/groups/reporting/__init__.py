"""What is reported of a group: status and conditions, events, ledger entries."""
