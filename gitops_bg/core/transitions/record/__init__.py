"""Steps that keep the record itself: restore it, upgrade it, remove future times, list rollouts and events."""
