"""The exact engine on an NVIDIA GPU, in CuPy; import `CupyEngine` from here.

Loaded only when it is asked for, or when a table is a CuPy array. The tree is that of all other
engines, to the last bit and tie.
"""

from spexplain.engines.cupy.engine import CupyEngine

__all__ = ["CupyEngine"]
