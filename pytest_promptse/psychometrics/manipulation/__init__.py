"""The manipulation check, which tests whether variants express the emotion of their label."""
