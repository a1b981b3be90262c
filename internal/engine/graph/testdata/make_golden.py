"""Writes convert.json: what Python's int, float, str and bool make of values read from JSON.

Run from this directory. Each case is the type of an input, the value as JSON text, and either the
repr of the result or the message of the exception. Integers of more than 64 bits are left out: a
graph has none.
"""
import json
import math

texts = ["", " ", "5", " 7 ", "+5", "-5", "- 5", "+-5", "5.", ".5", ".", "3.7", "1e3", "1E-3", "1e", "e5", "1_000", "1__0", "_1", "1_",
         "1_0.5_0", "1_.5", "1._5", "1e1_0", "0x10", "0b1", "0o7", "007", "1,5", "1 2", "nan", "-NaN", "inf", "Infinity", "-infinity",
         "infinit", "true", "false", "None", "abc", "it's", 'say "hi"', "both ' and \"", "back\\slash", "tab\there", "line\nend", "\r", "\x00",
         "\x1c5\x1f", "\u00a05\u00a0", "\u20035", "\u200b5", "\ufeff5", "\x855", "\u0663", "\u0663.\u0665", "\uff15", "\u0967\u0968", "\u00b2", "\u2167",
         "5\u0301", "é", "😀", "\u200b", "\u00ad", "\u0378", "\ue000", "\U000e0001", "\x7f", "\x80", "\u2028", "9223372036854775807", "-9223372036854775808",
         "1e400", "-1e400", "1e-400", "1" * 400, "0" * 30 + "1", "1.7976931348623157e308", "1.7976931348623159e308", "4.9e-324", "2e-324",
         "0.1", "100000000000000000000.0", "١٢٣", "12a", "a12", "0.", "-0", "-.0", "0e0", "\v3\f", "3\u180e", "3\u2029"]
numbers = ["0", "-0", "1", "-1", "3.7", "-3.7", "0.0", "-0.0", "1e5", "1E5", "1e-5", "0.0001", "0.00001", "123456789.125", "1e15", "1e16", "1e17",
           "9007199254740993", "9007199254740993.0", "9223372036854775807", "-9223372036854775808", "1e300", "5e-324", "1e400", "-1e400",
           "1.0", "100", "1e22", "1e21", "123456789012345680.0", "0.1", "1e-7", "2.5", "1.5e300", "9223372036854775807.0", "9223372036854774784.0"]
others = ["true", "false", "null", "{}", '{"a": 1}', '{"a": [1, 2.0, "x", null, true], "b": {"c": "it\'s"}}',
          '{"__value__": []}', '{"__value__": [0]}', '{"__value__": [1, "a", 2.5e10]}', '{"__value__": "5"}', '{"__value__": null}']

kinds = {"INT": int, "FLOAT": float, "STRING": str, "BOOLEAN": bool}
cases = []
for raw in [json.dumps(t) for t in texts] + numbers + others:
    value = json.loads(raw)
    if isinstance(value, dict) and "__value__" in value:
        value = value["__value__"]
    for kind, convert in kinds.items():
        case = {"type": kind, "value": raw}
        try:
            result = convert(value)
            if isinstance(result, int) and not -2**63 <= result < 2**63:
                continue
            if isinstance(result, float) and not math.isfinite(result):
                continue  # refused: no class can use it and no JSON can carry it
            case["want"] = repr(result)
        except Exception as e:
            case["error"] = str(e)
        cases.append(case)

with open("convert.json", "w") as f:
    json.dump(cases, f, indent=0)
    f.write("\n")
