"""One test run: plan the requests, judge the completions, decide the gates, build the record."""
