"""The attribute tree (method, section 2): layouts say how attributes are cut, the tree is what comes out.

Enters: a layout, the number of attributes, the depth. Leaves: an `AttributeTree`, flat arrays in which every node is an
interval of the attributes taken in the tree's own order.
"""

from treemend.tree.attribute_tree import AttributeTree, build_tree, default_depth
from treemend.tree.layouts import Part, grid_shape, lay_out
from treemend.tree.restriction import Restriction, restrict

__all__ = ["AttributeTree", "Part", "Restriction", "build_tree", "default_depth", "grid_shape", "lay_out", "restrict"]
