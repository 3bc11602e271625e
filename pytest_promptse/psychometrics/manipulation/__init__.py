"""The manipulation check: whether variants carry the emotion that their label says."""
