"""Psychometric suites: the Core Sentiment Inventory and EmotionBench."""
