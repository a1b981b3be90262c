"""Writes golden.json: what Python itself makes of the operations behind the text classes.

Run with Python 3.10 or newer from this directory. Each case names a class, its arguments and
either the expected text or true under "fails".
"""
import json
import random
import re
import warnings

warnings.simplefilter("ignore")  # of sets within sets, which may come one day

cases = []


def case(name, args, compute):
    entry = {"class": name, "args": args}
    try:
        entry["want"] = compute()
    except Exception:  # every failure counts the same
        entry["fails"] = True
    cases.append(entry)


TEXTS = ["", "a", "Hello World", "  padded \t\n", "\x1c\x85x\u2003", "they're BILL'S", "straße ǆ ŉ", "ÀÉÎ ñandú", "x1y22 z", "日本語 テキスト", "ΑΣ ΣΑΣ"]

for s in TEXTS:
    for mode, f in {"Both": str.strip, "Left": str.lstrip, "Right": str.rstrip}.items():
        case("StringTrim", {"string": s, "mode": mode}, lambda: f(s))
    for mode, f in {"UPPERCASE": str.upper, "lowercase": str.lower, "Capitalize": str.capitalize, "Title Case": str.title}.items():
        case("CaseConverter", {"string": s, "mode": mode}, lambda: f(s))
    for find, by in [("", "-"), ("l", "LL"), (" ", ""), ("aa", "b"), ("l", "")]:
        case("StringReplace", {"string": s, "find": find, "replace": by}, lambda: s.replace(find, by))
case("StringReplace", {"string": "aaaa", "find": "aa", "replace": "a"}, lambda: "aaaa".replace("aa", "a"))

FLAGS = {"case_insensitive": re.IGNORECASE, "multiline": re.MULTILINE, "dotall": re.DOTALL}


def regex(string, pattern, replace, count=0, **flags):
    args = {"string": string, "regex_pattern": pattern, "replace": replace, "count": count}
    bits = 0
    for name, bit in FLAGS.items():
        args[name] = flags.get(name, name == "case_insensitive")
        bits |= bit if args[name] else 0
    case("RegexReplace", args, lambda: re.sub(pattern, replace, string, count=count, flags=bits))


regex("abxd", "x*", "-")
regex("Hello hello", "hello", "bye")
regex("Hello hello", "hello", "bye", case_insensitive=False)
regex("aaaa", "a", "b", count=2)
regex("2026-11-21", r"(\d+)-(\d+)-(\d+)", r"\3/\2/\1")
regex("2026-11-21", r"(?P<y>\d+)-(?P<m>\d+)", r"\g<m>.\g<y>.\g<0>")
regex("key=value", r"(k)(?P<name>ey)=(v)", r"[\1|\2|\3|\g<name>]")
regex("abab cdcd", r"(?P<pair>\w\w)(?P=pair)", r"<\g<pair>>")
regex("abab1", r"(ab)\1", "x")
regex("one\ntwo\nthree", "^t", "T", multiline=True)
regex("one\ntwo\nthree", "^t", "T")
regex("one\ntwo", "o.*o", "_", dotall=True)
regex("one\ntwo", "o.*o", "_")
regex("price: 5", r"(?<=: )\d", "9")
regex("foobar foobaz", r"foo(?!bar)", "X")
regex("a.b", r"[.]", r"\\")
regex("a]b^c", r"[]^]", "_")
regex("a(b", r"[(]", "_")
regex("tab", "a", r"\t\n\x")
regex("tab", "a", r"\t\n")
regex("tab", "a", "\\")
regex("tab", "(a)", r"\2")
regex("tab", "(a)", r"\g<nope>")
regex("tab", "(a)", r"\g<1")
regex("tab", "(a)", r"\g<1>0")
regex("tab", "(a)", r"\101\0\60")
regex("tab", "a", r"\.\-\ ")
regex("tab", "a", r"\q")
regex("tab", "(a", "")
regex("tab", "*", "")
regex("end\n", r"d$", "D")
regex("end\n", r"d\Z", "D")
regex("end", r"d\Z", "D")
regex("äöü ÄÖÜ", r"ä\w+", "x")
regex("日本語", r"本", "-")
regex("a1b2", r"(\d)|([a-z])", r"<\1\2>")
regex("x", r"(y)?x", r"[\1]")

# Patterns by chance: well-formed ones, and sequences of whatever has a meaning somewhere.
rng = random.Random(20261121)
CHARS = "abcxyz AB12_-.\n\r\t"


def item(depth):
    kind = rng.randrange(13)
    if kind < 4 or depth > 2:
        return re.escape(rng.choice(CHARS))
    if kind == 4:
        return rng.choice([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", ".", r"\b", "^", "$", r"\A", r"\Z"])
    if kind in (5, 6):
        parts = ["a", "b", "a-c", "0-9", r"\d", r"\w", r"\s", "_", "-x", "z", r"\]", "^", r"\-", "[", r"\n", "--x", r"\--x"]
        return "[" + rng.choice(["", "", "^"]) + "".join(rng.choice(parts) for _ in range(rng.randrange(1, 4))) + "]"
    if kind == 7:
        return rng.choice(["(?<=a)", "(?<!a)", "(?<=[ab])", r"\1", r"\2", "(?P=n)", "(?(1)a|b)"])
    return rng.choice(["(?:", "(?=", "(?!", "(?P<n>", "(?>", "(", "(", "(?i:", "(?s-i:"]) + choice(depth + 1) + ")"


def repeated(depth):
    if rng.random() < 0.6:
        return item(depth)
    return item(depth) + rng.choice(["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "{"]) + rng.choice(["", "", "?", "+"])


def choice(depth):
    return "|".join("".join(repeated(depth) for _ in range(rng.randrange(1, 4))) for _ in range(rng.choice([1, 1, 2])))


ODD = list("ab()[]{}*+?|^$.\\-,:=!<>#&~0123 Pxk\n") + [
    "(?", "(?P<n>", "(?P=n)", "(?:", "(?i)", "(?i:", "(?-i:", "(?x)", "(?x: a )", "(?#c)", "(?(1)a|b)", "(?(n)a)", "(?>", "{2}", "{,", "{1,2}",
    r"\x41", r"\x4", r"\u00e9", r"\N", r"\p", r"\07", r"\101", r"\400", r"\8", r"\10", "[[", "[]", "[^", "]", r"\Q", "a-", "--", "&&", "[a-z-[b]]",
    "[:alpha:]", r"\-", r"\]", "(?<n>", "(?'n'"]
BY = ["-", "\\", "1", "g", "<0>", r"\g<1>", r"\g<n>", r"\1", r"\0", r"\10", r"\101", r"\n", "a", r"\400", r"\8", "$1", "<", ">"]


def by_chance(pattern, by, string):
    try:
        re.compile(pattern)
    except re.error as e:
        if "look-behind" in str(e):
            return
    regex(string, pattern, by, rng.choice([0, 0, 1, 2]), **{name: rng.random() < 0.5 for name in FLAGS})


for _ in range(600):
    by_chance(choice(0), "".join(rng.choice(BY) for _ in range(rng.randrange(3))), "".join(rng.choice(CHARS) for _ in range(rng.randrange(14))))
    by_chance("".join(rng.choice(ODD) for _ in range(rng.randrange(1, 8))), rng.choice(BY), "".join(rng.choice("ab[]-{}1,AB\n #") for _ in range(rng.randrange(8))))
regex("", "^", "start")
regex("one two", r"(?P<first>\w+) (?P<second>\w+)", r"\2 \g<first>")
regex("one two", r"(\w+) (?:\w+)", r"\1")
regex("aXbX", "(?i:x)", "-", case_insensitive=False)

VALUES = [0, 1, -1, 255, 1234567, -(2**63), 2**63 - 1, 0.0, -0.0, 1.0, 0.5, -2.5, 3.14159, 1e-5, 1e16, 1e22, 123456.789, 99.995, 0.0001234, 5e-324,
          True, False, "", "text", "ünïcode", "日本"]
SPECS = ["", "5", "<5", ">8", "^9", "*^9", "=8", "05", "+", " ", "+d", "d", "05d", "x", "#x", "#010x", "X", "b", "#b", "o", "c", ",", "_", "_x", "_b", ",d",
         "015,d", "08,d", ".2", ".1", ".0", ".3", ".10", ".2f", ".0f", "08.2f", "+.1f", ",.2f", "e", ".1e", "E", ".0e", "#.0f", "#.0e", "g", ".3g", "#.3g", "G", "%", ".1%", "s", ".2s", "10s",
         "-<6", "<", "zz", "5.", "d5", "é>4", "=5s", "=5", "n", ",x", "99999", "+s", "c5", "#", "#s", "<05", "020,.3f", "_.2f", ",e"]
for value in VALUES:
    for spec in SPECS:
        template = "{a:" + spec + "}"
        if spec == "99999" :
            # wider than is allowed here
            cases.append({"class": "StringFormat", "args": {"f_string": template, "values.a": value}, "fails": True})
            continue
        case("StringFormat", {"f_string": template, "values.a": value}, lambda: template.format(a=value))

for template in ["{a}", "{a}{b}", "{{a}}", "{{{a}}}", "{", "}", "a}b", "{a", "{c}", "{}", "{0}", "{a!r}", "{a!s}", "{b!r:>8}", "{a!x}", "{a!}", "plain", "", "{ a}", "{a }"]:
    case("StringFormat", {"f_string": template, "values.a": 1.5, "values.b": "it's"}, lambda: template.format(a=1.5, b="it's"))

FILLS = ["", "<", "^", ">", "=", "*<", "0=", "é^", " ="]
KINDS = ["", *"bcdeEfFgGnosxX%q"]
for _ in range(800):
    spec = "".join(rng.choice(c) for c in [FILLS, ["", "+", "-", " "], ["", "", "z"], ["", "#"], ["", "0"], ["", "5", "12"], ["", "", ",", "_"], ["", ".0", ".3"], KINDS])
    template = "{a" + rng.choice(["", "", "!r", "!s", "!a"]) + ":" + spec + "}"
    value = rng.choice(VALUES)
    case("StringFormat", {"f_string": template, "values.a": value}, lambda: template.format(a=value))
PIECES = ["{", "}", "{{", "}}", "a", ":", "!", "r", "0", "{a}", "{b}", "{a:{b}}", "{a:>{b}}", "{a:{b:{a}}}", "{a:{{}}}", "{a:{b}{b}}", "{a!r:{b}}", ":>5"]
for _ in range(400):
    template = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 5)))
    case("StringFormat", {"f_string": template, "values.a": 7, "values.b": 3}, lambda: template.format(a=7, b=3))
for s in ["Ⅴ ⅴ ⓐb", "ͅѵ ßı", "ǅ ﬁn 𐐨𐐀", "İi ıI ŉ", "O’NEIL d'arc"]:
    for mode, f in {"UPPERCASE": str.upper, "lowercase": str.lower, "Capitalize": str.capitalize, "Title Case": str.title}.items():
        case("CaseConverter", {"string": s, "mode": mode}, lambda: f(s))

with open("golden.json", "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
