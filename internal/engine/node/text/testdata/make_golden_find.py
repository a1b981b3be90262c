"""Writes golden_find.json: what Python itself finds in texts and compares them by.

Run with Python 3.10 or newer from this directory. Each case names a class, its arguments and the repr of what is expected.
"""
import json
import random
import re

rng = random.Random(20261121)
cases = []


def case(name, args, want):
    cases.append({"class": name, "args": args, "want": repr(want)})


TEXTS = ["", "a", "Hello World", "  padded ", "straße", "ÀÉÎ ñandú", "日本語 テキスト", "ΑΣ ΣΑΣ", "a\nB\nc", "İx", "👩\u200d🚀 up"]
for s in TEXTS:
    case("StringLength", {"string": s}, len(s))
    for start in [0, 1, 3, 50, -1, -3, -50, -2**63]:
        for end in [0, 2, 5, 50, -1, -4, -50, 2**63 - 1]:
            case("StringSubstring", {"string": s, "start": start, "end": end}, s[start:end])
    for other in ["", "a", "hello", "World", "ß", "SS", "é", "σας", "i̇", s[:2], s[-2:], s]:
        for sensitive in [True, False]:
            a, b = (s, other) if sensitive else (s.lower(), other.lower())
            case("StringContains", {"string": s, "substring": other, "case_sensitive": sensitive}, b in a)
            for mode, f in {"Starts With": a.startswith, "Ends With": a.endswith, "Equal": a.__eq__}.items():
                case("StringCompare", {"string_a": s, "string_b": other, "mode": mode, "case_sensitive": sensitive}, f(b))

FLAGS = {"case_insensitive": re.IGNORECASE, "multiline": re.MULTILINE, "dotall": re.DOTALL}


def extract(pattern, s, mode, bits, group):
    try:
        if mode == "All Matches":
            return "\n".join(m[0] if isinstance(m, tuple) else m for m in re.findall(pattern, s, bits))
        taken = list(re.finditer(pattern, s, bits))
    except re.error:
        return ""
    if mode.startswith("First"):
        taken = taken[:1]
    if mode == "First Match":
        group = 0
    elif re.compile(pattern).groups < max(group, mode == "All Groups"):
        return ""
    return "\n".join(m.group(group) or "" for m in taken)


def regex(pattern, s, group=1, **flags):
    bits, args = 0, {"string": s, "regex_pattern": pattern}
    for name, bit in FLAGS.items():
        args[name] = flags.get(name, name == "case_insensitive")
        bits |= bit if args[name] else 0
    try:
        case("RegexMatch", args, bool(re.search(pattern, s, bits)))
    except re.error:
        case("RegexMatch", args, False)
    for mode in ["First Match", "All Matches", "First Group", "All Groups"]:
        case("RegexExtract", {**args, "mode": mode, "group_index": group}, extract(pattern, s, mode, bits, group))


regex(r"(\d+)-(\d+)", "1-2 and 30-40", 2)
regex(r"(\d+)-(\d+)", "1-2 and 30-40", 3)
regex(r"(\d+)-(\d+)", "1-2 and 30-40", 0)
regex(r"\d+", "1 2 3", 0)
regex(r"\d+", "1 2 3")
regex(r"(a)|(b)", "abba", 2)
regex(r"(?P<n>\w)(?:x)", "axbx")
regex("(", "a")
regex("*", "a")
regex("", "ab", 0)
regex("x*", "axb", 0)
regex("^b", "a\nb", multiline=True)
regex("^b", "a\nb")
regex("a.b", "a\nb", dotall=True)
regex("A", "a", case_insensitive=False)
PIECES = ["a", "b", "[ab]", r"\d", r"\w", ".", "(", ")", "(?:", "*", "+", "?", "|", "^", "$", r"\b", "(a)", "(b?)", "{2}"]
for _ in range(300):
    pattern = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 6)))
    regex(pattern, "".join(rng.choice("aAbB1 \n") for _ in range(rng.randrange(9))), rng.randrange(4), **{n: rng.random() < 0.5 for n in FLAGS})


def member(source, key):
    try:
        data = json.loads(source)
    except ValueError:
        return ""
    value = data.get(key) if isinstance(data, dict) else None
    return "" if value is None else str(value)


VALUES = ['"text"', '"it\'s"', "1", "-0", "1.0", "1e5", "1E400", "12345678901234567890123", "true", "false", "null", "[]", "{}", '[1, "a", null, {"z": 1, "a": [2.50]}]',
          '{"z": {"y": "\\u00e4\\n"}, "b": false, "z": 2}', '"\\ud83d\\ude00"', '""']
for value in VALUES:
    source = '{"k": %s, "other": 0}' % value
    for key in ["k", "other", "absent", ""]:
        case("JsonExtractString", {"json_string": source, "key": key}, member(source, key))
for source in ["", "[]", "1", '"k"', "null", "{", '{"k": 1,}', '{"k": 1} x', ' {"k": 1} ', '{"k": 1, "k": 2}', "{'k': 1}", '{"a": {"k": 1}}', '{"k": [1,]}', '{"k": 01}', '[{"k": 1}]']:
    case("JsonExtractString", {"json_string": source, "key": "k"}, member(source, "k"))

with open("golden_find.json", "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
