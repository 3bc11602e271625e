"""One run: plan, ask, judge, remember."""
