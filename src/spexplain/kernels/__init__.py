"""The only compiled code: loops over plain arrays that return sums. They hold no formulas and check nothing."""
