"""What is told of a group: status and conditions, events, ledger entries."""
