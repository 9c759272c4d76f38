"""Certificates: what is proved about a tree, checked on the data at hand; import all names from here.

``docs/certificates.md`` explains them. `certify` bounds the cuts of a tree from both sides,
`imm_bound` bounds the cost of a tree with one centre per leaf.
"""

from spexplain.facts.certificates.certificate import Certificate, certify
from spexplain.facts.certificates.costs import CostBound, imm_bound
from spexplain.facts.certificates.ratios import CoordinateCut, cheeger_ratios
from spexplain.facts.certificates.spectrum import Spectrum, smallest_eigenvalues

__all__ = [
    "Certificate",
    "CoordinateCut",
    "CostBound",
    "Spectrum",
    "certify",
    "cheeger_ratios",
    "imm_bound",
    "smallest_eigenvalues",
]
