"""EmotionBench: situations, questionnaires, scores and the suite."""
