"""What a run of the tests says beside its results."""
