"""Units of the steps: functions with an input and an output of their own."""
