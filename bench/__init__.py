"""The benchmark: Ask Bridge and its alternatives measured in one run, as ratios. See docs/performance.md."""
