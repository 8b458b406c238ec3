"""Tests of what runs the pods of versions: ReplicaSets and DaemonSets, their names, sizes and restarts."""
