"""Nodes that write images, masks, latents and sounds to files, and read them back, without any loss."""

from . import routes  # registers the route that removes stored files
from .nodes import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS", "routes"]
