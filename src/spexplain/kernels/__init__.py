"""Compiled loops over plain arrays, which know no method and check nothing; import each from its module.

Formulas are not here: `spexplain.engines.histogram.scores` compiles the loops around those that declare
themselves `compilable`. `readiness` loads nothing compiled, and says whether that pays.
"""
