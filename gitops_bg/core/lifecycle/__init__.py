"""The life of versions and their pods: candidate, active, legacy, archived; how many, how long, with what."""
