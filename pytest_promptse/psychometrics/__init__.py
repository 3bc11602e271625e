"""Psychometric suites: Core Sentiment Inventory, EmotionBench and the manipulation check."""
