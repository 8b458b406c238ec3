"""The running process: gather, decide, act; the work queue, timers and wiring."""
