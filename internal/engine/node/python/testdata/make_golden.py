"""Writes json.json: JSON texts and what Python makes of them by json.loads and json.dumps.

Run from this directory. Keys of objects are sorted, since values here do not keep their order.
"""
import json
import random

texts = ["null", "true", "false", "0", "-0", "-0.0", "1.10", "1e5", "1E-7", "0.00001", "1e16", "123456789012345678901234567890", "1e400", "-1e400",
         "1e-400", "100000000000000000000.0", "[]", "{}", "[[], {}, [1]]", '{"a": {"b": {"c": []}}, "": 1}', '"\\u007f\\u0080~ \\u00e9\\u2028\\ud83d\\ude00"',
         '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f<>&\'"', '["x", 1.5, true, null, {"k": "v"}]']
r = random.Random(7)


def value(depth):
    kind = r.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return r.choice([None, True, False])
    if kind == 1:
        return r.randrange(-10**r.randrange(1, 18), 10**r.randrange(1, 18))
    if kind == 2:
        return r.choice([1, -1]) * r.random() * 10.0**r.randrange(-20, 20)
    if kind in (3, 4):
        return "".join(chr(r.choice([r.randrange(0x20, 0x7f), r.randrange(0x300), r.randrange(0xd800), r.randrange(0xe000, 0x110000)])) for _ in range(r.randrange(6)))
    if kind == 5:
        return [value(depth + 1) for _ in range(r.randrange(4))]
    return {str(r.randrange(1000)): value(depth + 1) for _ in range(r.randrange(4))}


texts += [json.dumps(value(0), ensure_ascii=r.random() < 0.5) for _ in range(300)]
cases = [{"text": t, "want": json.dumps(json.loads(t), indent=4, sort_keys=True, ensure_ascii=False)} for t in texts]
with open("json.json", "w") as f:
    json.dump(cases, f, indent=0)
    f.write("\n")
