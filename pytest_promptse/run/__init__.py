"""One run: plan, judge, score, decide gates and build the record."""
