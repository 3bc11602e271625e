"""Decides whether a variant asks for the same thing as its original."""
