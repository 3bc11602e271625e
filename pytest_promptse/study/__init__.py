"""Several records side by side: models, dates or templates, and the paper's questions of them."""
