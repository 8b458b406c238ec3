"""Steps that move live traffic, and what goes with it: preview, ports, draining, stabilization, holds, aborts."""
