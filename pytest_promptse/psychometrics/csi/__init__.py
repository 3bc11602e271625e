"""The Core Sentiment Inventory: word lists, prompts, labels, scores and the suite."""
