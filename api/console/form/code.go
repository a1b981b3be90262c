package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Snippet is a program that makes a call.
type Snippet struct{ Language, Text string }

// keyVariable is the environment variable from which the programs read the key of an account.
const keyVariable = "MILLRACE_API_KEY"

// Snippets returns programs that send a body to an address and print the answer. A service with accounts gets a key.
func Snippets(address string, body json.RawMessage, keyed bool) []Snippet {
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") != nil {
		return nil
	}
	return []Snippet{
		{Language: "curl", Text: curl(address, pretty.String(), keyed)},
		{Language: "Python", Text: python(address, body, keyed)},
		{Language: "TypeScript", Text: typescript(address, pretty.String(), keyed)},
	}
}

// shellQuote quotes any text as one word of a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func curl(address, body string, keyed bool) string {
	key := ""
	if keyed {
		key = fmt.Sprintf(" \\\n  -H \"X-API-Key: $%s\"", keyVariable)
	}
	return "curl " + shellQuote(address) + key + " \\\n  -H 'Content-Type: application/json' \\\n  --data-binary " + shellQuote(body) + "\n"
}

func python(address string, body json.RawMessage, keyed bool) string {
	imports, headers := "import json\nimport urllib.request\n", `{"Content-Type": "application/json"}`
	if keyed {
		imports = "import json\nimport os\nimport urllib.request\n"
		headers = fmt.Sprintf(`{"Content-Type": "application/json", "X-API-Key": os.environ[%q]}`, keyVariable)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return ""
	}
	return imports + "\nbody = " + pythonLiteral(value, "") + "\nrequest = urllib.request.Request(\n    " + pythonText(address) +
		",\n    data=json.dumps(body).encode(),\n    headers=" + headers + ",\n)\n" +
		"with urllib.request.urlopen(request) as answer:\n    print(answer.read().decode())\n"
}

// pythonLiteral renders a JSON value as a Python literal.
func pythonLiteral(value any, indent string) string {
	const step = "    "
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case json.Number:
		return v.String()
	case string:
		return pythonText(v)
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = pythonLiteral(one, indent+step)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var b strings.Builder
		b.WriteString("{\n")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(indent + step + pythonText(name) + ": " + pythonLiteral(v[name], indent+step) + ",\n")
		}
		return b.String() + indent + "}"
	}
	return "None"
}

// pythonText renders a text as a Python literal. Go's ASCII escapes have the same meaning in Python.
func pythonText(text string) string { return strconv.QuoteToASCII(text) }

func typescript(address, body string, keyed bool) string {
	headers := `{ "Content-Type": "application/json" }`
	if keyed {
		headers = fmt.Sprintf(`{ "Content-Type": "application/json", "X-API-Key": process.env.%s! }`, keyVariable)
	}
	return "const answer = await fetch(" + scriptText(address) + ", {\n  method: \"POST\",\n  headers: " + headers +
		",\n  body: JSON.stringify(" + strings.ReplaceAll(body, "\n",
		"\n  ") + "),\n});\nif (!answer.ok) throw new Error(await answer.text());\nconsole.log(await answer.text());\n"
}

// scriptText renders a text as JSON, which is also a TypeScript literal.
func scriptText(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(raw)
}
