"""Writes refused.json: the exceptions of re.sub for patterns and replacements. Written with Python 3.11, from this directory."""
import json
import re

PATTERNS = [
    "[", "[a", "a[", "(", "(a", "((a)", "a)", "*", "a**", "a*?*", "a|*", "(*a)", "+", "?", "{2}a", "a{2}{3}",
    "a{3,2}", "\\", "a\\", "\\q", "[\\q]", "\\x1", "\\u12", "[z-a]", "[\\d-a]", "[a-\\d]", "(?P<1>a)", "(?P<a",
    "(?P<>a)", "(?P<a>x)(?P<a>y)", "(?P=b)", "(?Pz)", "(?z)", "(?", "(?<a", "(?<ab)", "(?#x", "\\1", "(a)\\2",
    "(a\\1)", "\\400", "[\\400]", "(?(1)a)", "(?(x)a)", "a(?i)", "^*", "$*", "\\b*", "(?i", "(?i:a", "(?P", "x*+*",
    "é[", "\n[", "(?>", "(?=", "[]", "[^]", "[a-", "(?(", "(?()a)", "()**",
]
REPLACEMENTS = [
    ("(a)", "\\2"), ("a", "\\1"), ("a", "\\9"), ("(a)", "\\g<2>"), ("a", "\\g<x>"), ("a", "\\g<"), ("a", "\\g"),
    ("a", "\\q"), ("a", "x\\"), ("a", "\\g<>"), ("a", "\\g<1a>"), ("a", "\\g<-1>"), ("a", "\\400"), ("a", "xy\\3z"),
    ("(a)", "\\12"), ("é", "é\\5"),
]
with open("refused.json", "w") as f:
    cases = []
    for pattern, replace in [(p, "") for p in PATTERNS] + REPLACEMENTS:
        try:
            re.sub(pattern, replace, "")
        except (re.error, IndexError) as e:
            name = "re.error" if isinstance(e, re.error) else type(e).__name__
            cases.append(json.dumps({"pattern": pattern, "replace": replace, "raises": name, "sentence": str(e)}))
    f.write("[\n" + ",\n".join(cases) + "\n]\n")
