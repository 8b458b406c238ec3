"""Steps that keep the record itself: restored, upgraded, rid of the future, with the book of rollouts and events."""
