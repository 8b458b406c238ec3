"""What serves beside an app: before the hand-over, on it, and on the way back."""
