"""What environments cost, as counts; and `python -m tests.bench.fleets`: many agents on one Gitea."""
