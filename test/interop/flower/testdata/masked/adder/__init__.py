"""Adds a number to each weight."""
