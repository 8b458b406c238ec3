"""What we say in Git: promotions, the ledger, edits for people."""
