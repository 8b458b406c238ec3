"""Steps that keep the record itself: restore it, remove future times, list rollouts and events."""
