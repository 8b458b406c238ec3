"""What the agent and the command line write to Git: promotions, the ledger, edits for people."""
