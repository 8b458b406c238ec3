"""The running process: gather, decide, act; the work queue, the timers and the wiring."""
