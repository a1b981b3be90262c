"""Classes that expand to a graph, for recording what a ComfyUI server says of them.

Copy this file to custom_nodes of the server before `go test ./internal/sim/comfyui -record URL`.
"""
from comfy_execution.graph_utils import GraphBuilder


class ExpandingText:
    """Expands to a class that joins two texts, and one that shows the result."""

    RETURN_TYPES = ("STRING",)
    FUNCTION = "expand"
    CATEGORY = "tests"

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"text": ("STRING", {"default": ""})}}

    def expand(self, text):
        graph = GraphBuilder()
        joined = graph.node("StringConcatenate", string_a=text, string_b="!", delimiter="")
        graph.node("PreviewAny", source=joined.out(0))
        return {"result": (joined.out(0),), "expand": graph.finalize()}


class ExpandingFailure(ExpandingText):
    """Expands to a class that fails."""

    def expand(self, text):
        graph = GraphBuilder()
        failing = graph.node("StringFormat", f_string="{")
        return {"result": (failing.out(0),), "expand": graph.finalize()}


NODE_CLASS_MAPPINGS = {"ExpandingText": ExpandingText, "ExpandingFailure": ExpandingFailure}
