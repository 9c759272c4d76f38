"""Explanations for people: text, HTML, plots, the report."""
