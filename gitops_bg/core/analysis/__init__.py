"""Analysis runs: what is to be measured, what was counted, what follows (argo-rollouts.md §3)."""
