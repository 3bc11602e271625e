"""Requests to models: queue, dispatcher, concurrency, retries, budget and leader election."""
