"""Several records side by side: baselines, the leaderboard and the paper's research questions."""
