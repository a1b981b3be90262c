"""Writes golden.json: what the formulas behind the number classes give in Python.

Run from this directory. Each case names a class, its arguments and the expected outputs or "fails".
"""
import json
import math

cases = []


def case(name, args, compute):
    entry = {"class": name, "args": args}
    try:
        entry["want"] = [repr(v) for v in compute()]
    except Exception:
        entry["fails"] = True
    cases.append(entry)


def convert(value):
    if isinstance(value, str):
        text = value.strip()
        try:
            value = int(text)
        except ValueError:
            value = float(text)
    f, i = float(value), int(value)
    if not math.isfinite(f) or not -2**63 <= i < 2**63:
        raise ValueError("range")
    return f, i


for value in [0, 5, -7, 2**53 + 1, 2**63 - 1, -2**63, 0.0, 2.9, -2.9, 1e18, 1e19, 1e300, True, False,
              "12", " 12 ", "-12", "+5", "3.7", "-3.7", "1e3", ".5", "5.", "", " ", "abc", "1_000", "0x10", "inf", "nan", "-inf", "1e400",
              "9223372036854775807", "9223372036854775808", "007", "1 2", "9" * 500]:
    case("ComfyNumberConvert", {"value": value}, lambda: convert(value))

RATIOS = {"1:1 (Square)": (1, 1), "2:3 (Portrait Photo)": (2, 3), "3:2 (Photo)": (3, 2), "3:4 (Portrait Standard)": (3, 4),
          "4:3 (Standard)": (4, 3), "9:16 (Portrait Widescreen)": (9, 16), "16:9 (Widescreen)": (16, 9), "21:9 (Ultrawide)": (21, 9)}


def resolution(label, megapixels, multiple):
    w, h = RATIOS[label]
    scale = math.sqrt(megapixels * 1024 * 1024 / (w * h))
    return round(w * scale / multiple) * multiple, round(h * scale / multiple) * multiple


for label in list(RATIOS) + ["5:4"]:
    for megapixels in [0.1, 0.5, 1.0, 1.5, 2.0, 4.2, 16.0]:
        for multiple in [8, 12, 16, 64, 128]:
            args = {"aspect_ratio": label, "megapixels": megapixels, "multiple": multiple}
            case("ResolutionSelector", args, lambda: resolution(label, megapixels, multiple))


def math_expression(source, values):
    result = eval(source, {"__builtins__": {}}, {**values, "values": list(values.values())})
    f, i = float(result), int(result)
    if not math.isfinite(f) or not -2**63 <= i < 2**63:
        raise ValueError("range")
    return f, i, bool(result)


for source in ["a + b", "a / b", "a * 2.5", "a > b", "values[1] - values[0]", "a if b else 0", "2 ** 62", "2 ** 63", "2 ** 2000",
               "1e308 * 10", "1e18 * 1.0", "1e19", "-a", "[a]", "c", "a // 0", "9007199254740993", "a == 7 and b"]:
    values = {"a": 7, "b": -2}
    case("ComfyMathExpression", {"expression": source, "values.a": 7, "values.b": -2}, lambda: math_expression(source, values))

with open("golden.json", "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
