"""Writes format.json: what str.format makes of templates and values, or the exception that it raises. Written with Python 3.11."""
import json

VALUES = ["text", 7, 2.5, True, None, ["x", "y"], {"x": 1}]
TEMPLATES = [
    "{a", "{", "}", "{a}}", "{b}", "{0}", "{}", "{a[0]}", "{a[x]}", "{a.x}", "{a[9]}", "{a!z}", "{a!}", "{a!rr}",
    "{a:zz}", "{a:05d}", "{a:,}", "{a:.2f}", "{a:.2d}", "{a:s}", "{a:x}", "{a:c}", "{a:=5}", "{a:+}", "{a:#}",
    "{a:,s}", "{a:_x}", "{a:,x}", "{a:,n}", "{a:q}", "{a:5q}", "{a:qq}", "{a:>5}", "{a:..}", "{a:.}", "{a: }",
    "{a:z}", "{a:%}", "{a:e}", "{a[}", "{a[0}", "{a.}", "{a[]}", "{a[0]x}", "{a:{b}}", "{a:{a}}", "{a[0][0]}",
    "{a[-1]}", "{ a}", "{a }", "{1}", "{A}", "{a:,_}", "{a:_,}", "{a:__}", "{a:,.2d}", "{a:z.1f}", "{a:c<5}",
    "{a:c}",
]
with open("format.json", "w") as f:
    cases = []
    for value in VALUES:
        for template in TEMPLATES:
            case = {"template": template, "values": {"a": value}}
            try:
                case["want"] = template.format(a=value)
            except Exception as e:
                case["raises"], case["sentence"] = type(e).__name__, str(e)
            cases.append(json.dumps(case))
    f.write("[\n" + ",\n".join(cases) + "\n]\n")
