"""Writes refused.json: the exceptions of ComfyMathExpression. Run as `python make_refused.py COMFYUI` with ComfyUI's Python, from this
directory; COMFYUI is its directory."""
import json
import math
import sys

from simpleeval import simple_eval

source = open(sys.argv[1] + "/comfy_extras/nodes_math.py").read()
exec(source[source.index("MAX_EXPONENT ="):source.index("class MathExpressionNode")])
body = source[source.index("        if not expression.strip()"):source.index("        return io.NodeOutput(float_result")]
exec("def run(expression, values):\n" + body.replace("\n        ", "\n    ").replace("        if", "    if", 1))
EXPRESSIONS = [
    "", "  ", "a // 0", "a % 0", "a / 0", "a / 0.0", "a // 0.0", "a % 0.0", "0 ** -1", "0.0 ** -1", "sqrt(0-4)", "log(0)", "log(0.0)",
    "log2(0)", "log10(0)", "log(a, 1)", "foo(a)", "a +", '"x"', "'it'", "1/0", "pow(0, -1)", "max(1)", "d", "(a", "a)", "a b", "values", "not",
    "if", "a if b", "a if True", "1e999", "1e999 - 1e999", "a == ", "@", "$", "a ? b", "a!", "x", "values[0", "sum(values) / 0", "a**", "1 if",
    "exp(1)", "print(1)", '__import__("os")', "]", "a]", "((a)", "a + (", "a:", "x for x in values",
]
with open("refused.json", "w") as f:
    cases = []
    for expression in EXPRESSIONS:
        try:
            run(expression, {"a": 3, "b": 2.5})
        except Exception as e:
            kind = type(e)
            name = kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
            cases.append(json.dumps({"expression": expression, "raises": name, "sentence": str(e)}))
    f.write("[\n" + ",\n".join(cases) + "\n]\n")
