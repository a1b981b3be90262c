"""Writes golden.json: what Python evaluates each expression to.

Run with Python 3.10 or newer from this directory. Each case holds the source, the variables and
either {"type", "repr"} of the result or "fails". What is refused on purpose counts as failing:
complex numbers, exponents beyond 4000, attributes, comprehensions, objects, pow with a modulus and
words that follow a number without a space. Random expressions come from a fixed seed.
"""
import ast
import json
import math
import random
import re

FUNCTIONS = {"sum": sum, "min": min, "max": max, "abs": abs, "round": round, "pow": pow, "sqrt": math.sqrt,
             "ceil": math.ceil, "floor": math.floor, "log": math.log, "log2": math.log2, "log10": math.log10,
             "sin": math.sin, "cos": math.cos, "tan": math.tan, "int": int, "float": float}
VARS = {"a": 7, "b": -3, "c": 2.5, "d": 0.0, "e": True, "f": -0.75, "g": 0, "values": [7, -3, 2.5, 0.0, True, -0.75, 0]}
cases = []


def power(a, b):
    if abs(b) > 4000:
        raise ValueError("exponent")
    result = a ** b
    if isinstance(result, complex):
        raise ValueError("complex")
    return result


FUNCTIONS["pow"] = power


class Powers(ast.NodeTransformer):
    """Replaces a ** b by pow(a, b) and refuses what is not an arithmetic expression."""

    def generic_visit(self, node):
        if isinstance(node, (ast.Attribute, ast.ListComp, ast.Dict)):
            raise ValueError("refused")
        node = super().generic_visit(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return ast.copy_location(ast.Call(ast.Name("pow", ast.Load()), [node.left, node.right], []), node)
        return node


def evaluate(source):
    if re.search(r"[0-9](if|else|and|or)", source):
        raise ValueError("refused")
    tree = ast.fix_missing_locations(Powers().visit(ast.parse(source.strip(), mode="eval")))
    return eval(compile(tree, "case", "eval"), {"__builtins__": {}}, {**FUNCTIONS, **VARS})


def case(source):
    entry = {"source": source}
    try:
        result = evaluate(source)
        if isinstance(result, (tuple, complex, str)) or result is None or callable(result):
            raise ValueError("no number")
        if isinstance(result, int) and not isinstance(result, bool) and result.bit_length() > 2000:
            return
        entry["type"], entry["repr"] = type(result).__name__, repr(result)
    except RecursionError:
        return
    except Exception:
        entry["fails"] = True
    cases.append(entry)


for source in """
a + b|a - b|a * b|a / b|a // b|a % b|a ** 2|a ** b|b ** 2|b ** a|c ** 2|c ** -2|c // 2|c % 2|-c // 2|-c % 2|-7 // 2|-7 % 2|7 // -2|7 % -2
7.5 // -2|7.5 % -2|-7.5 % 2|a / 0|a // 0|a % 0|c / 0|c // 0.0|c % 0|0 ** -1|0.0 ** -1|0 ** 0|d ** d|f ** 0.5|f ** 2|(-8) ** (1/3)|-2 ** 2|2 ** -1|2 ** 3 ** 2
-a ** 2|--a|+-a|~a|~c|not a|not d|not not a|a and b|a or b|d and a|d or a|g or d|e + e|e * 2.5|-e|~e|e & True|e | False|e ^ e|a & 3|a | 8|a ^ b|a << 3|a >> 1|b >> 1|b << 2|a << -1|c << 1|1 << 70|-1 >> 100
a < b|a > b|a == 7|a == 7.0|a != 7|a <= 7 <= 8|1 < 2 < 3|3 > 2 > 2|1 < 2 > 1|c >= 2.5|e == 1|e == True|d == -0.0|2**53 == 2.0**53|2**53 + 1 == 2.0**53|2**53 + 1 > 2.0**53
a if e else b|a if g else b|a if b < 0 else c if d else f|1 if 0 else 2 if 0 else 3|(1 if 0 else 2) if 0 else 3
sum(values)|min(values)|max(values)|sum([])|sum([a, b, c])|sum(a)|sum(a, b)|min(a, b)|max(a, b, c)|min([a])|min(a)|min()|min([])|max(1, 1.0)|max(1.0, 1)|min(True, 1)|max([a, b,],)
abs(b)|abs(f)|abs(e)|round(c)|round(3.5)|round(-2.5)|round(2.675, 2)|round(0.15, 1)|round(1234, -2)|round(1250, -2)|round(1350, -2)|round(-1250, -2)|round(1234.567, -2)|round(a, 2)|round(0.5)|round(1.5)|round(c, 0)|round(-0.4)|round(-0.04, 1)|round(5e-324, 3)|round(1e300, 2)|round(e)|round(c, 1.0)|round()
pow(a, 2)|pow(2, 0.5)|pow(a)|pow(2, 3, 5)|sqrt(a)|sqrt(b)|sqrt(16)|ceil(c)|ceil(f)|floor(c)|floor(f)|floor(a)|ceil(1e20)|log(a)|log(0)|log(-1)|log(8, 2)|log(a, c)|log(a, 1)|log2(8)|log10(1000)|log10(0)|sin(a)|cos(c)|tan(f)|sin(0)|int(c)|int(f)|int(a)|int()|float(a)|float(e)|int(1e300)
values[0]|values[-1]|values[2] * 2|values[7]|values[-8]|values[c]|values[e]|[1, 2, 3][1]|[[1, 2], [3]][1][0]|values|[]|[1,]|a[0]
0x1F|0b101|0o17|1_000|1_000.5|.5|5.|1e3|1E-2|1e400|-1e400|007|00|0|1__0|_1|1_|0x|1e|1.2.3|1abc|1e5e|0b2|12if 1 else 3
|()|(|)|a b|a +|+ |* a|a ** |a // |a,b|a = 1|a := 1|import os|__import__('os')|a.real|'x'|"x"|a; b|lambda: 1|[x for x in values]|{1: 2}|a if b|if a|a else b|not|and a|a and|open(1)|abs|unknown|abs(x=1)|abs(*values)|True|False|None|a < |a << |a !b|a ! = b|a <> b|a === b|@|a $ b|é
1 if not a else 2|not a == b|not a + b|-a if e else +a|a - -b|a--b|a+++b|2**-2**2|-2**-2|a*-b|a**-b|a if e else b + 1|(a if e else b) + 1|1 + 2 * 3 - 4 / 5|(1 + 2) * (3 - 4) / 5|a % 4 * 2|a // 2 * 2|2 * a // 3|1 - 1 - 1|2 ** 2 ** 3|100 / 10 / 2
0.1 + 0.2|1 / 3|10 / 4|10 / 5|2 ** 64|2 ** 64 / 2 ** 63|(2 ** 200) / (2 ** 199)|2 ** 1100 / 2 ** 1099|float(2 ** 1100)|2 ** 1100 * 1.0|1e308 * 10|1e308 * 10 - 1e308 * 10|(1e308 * 10) > 1|10.0 ** 400|10 ** 400|int(1e308 * 10)|1e16 + 1|123456789 * 987654321|-7 // 2.0|7 % -2.5|-0.0|0 * -1.0|1e308 * 10 // 2|5 % (1e308*10)|-5 % (1e308*10)|-5 // (1e308*10)
""".strip().split("\n"):
    for one in source.split("|") if not source.startswith("abs(b)") else source.split("|"):
        case(one)
for source in ["e | False", "a | 8", "5 | 2 ^ 3 & 1 << 2", "1 | 2 | 4", "a | c"]:
    case(source)

random.seed(7)


def grow(depth):
    if depth == 0 or random.random() < 0.15:
        return random.choice(["a", "b", "c", "d", "e", "f", "g", "2", "3", "0.5", "10", "1.25", "values[1]", "True"])
    pick = random.random()
    if pick < 0.5:
        return grow(depth - 1) + random.choice([" + ", " - ", "*", " / ", " // ", "%", " < ", " >= ", " == ", " and ", " or ", " & ", " ^ "]) + grow(depth - 1)
    if pick < 0.6:
        return grow(depth - 1) + " ** " + random.choice(["2", "3", "-1", "0.5", "a"])
    if pick < 0.7:
        return "(" + grow(depth - 1) + ")"
    if pick < 0.78:
        return random.choice(["-", "not ", "+", "~"]) + grow(depth - 1)
    if pick < 0.85:
        return grow(depth - 1) + " if " + grow(depth - 1) + " else " + grow(depth - 1)
    name = random.choice(["abs", "int", "float", "ceil", "floor", "round", "sqrt", "min", "max", "sum"])
    if name in ("min", "max"):
        return name + "(" + grow(depth - 1) + ", " + grow(depth - 1) + ")"
    if name == "sum":
        return "sum([" + grow(depth - 1) + ", " + grow(depth - 1) + "])"
    return name + "(" + grow(depth - 1) + ")"


for _ in range(3000):
    case(grow(4))

with open("golden.json", "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
