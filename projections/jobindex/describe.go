package jobindex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// description contains the searchable properties of a graph.
type description struct {
	title           string
	classes, models []string
	text            string // titles and texts of its nodes
}

// Bounds of the row of one job.
const (
	maxTitle = 120
	maxText  = 4 << 10 // bytes of searchable text
	maxCause = 160
)

// describe reads a graph. It ignores parts that it cannot interpret.
func describe(source job.Source) description {
	var nodes map[string]struct {
		Class  string                     `json:"class_type"`
		Inputs map[string]json.RawMessage `json:"inputs"`
		Meta   struct {
			Title string `json:"title"`
		} `json:"_meta"`
	}
	var d description
	if json.Unmarshal(source.Prompt, &nodes) != nil {
		return d
	}
	ids := make([]string, 0, len(nodes))
	for id := range nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids) // so that a row depends only on the event
	for _, id := range ids {
		n := nodes[id]
		d.classes = with(d.classes, n.Class)
		d.text = appendWord(appendWord(d.text, n.Class), n.Meta.Title)
		names := make([]string, 0, len(n.Inputs))
		for name := range n.Inputs {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			d.input(name, n.Inputs[name])
		}
	}
	d.title = workflowTitle(source)
	return d
}

// input adds the text of an input, and the name of a model.
func (d *description) input(name string, raw json.RawMessage) {
	if !bytes.HasPrefix(raw, []byte(`"`)) {
		return
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return
	}
	if modelFile.MatchString(text) || name == "model" || name == "model_name" {
		d.models = with(d.models, cut(text, maxTitle))
	}
	d.text = appendWord(d.text, text)
}

// modelFile matches the names of model files.
var modelFile = regexp.MustCompile(`(?i)^[^\n]{1,200}\.(safetensors|ckpt|pt|pth|gguf|onnx|sft)$`)

// workflowTitle returns the name that an editor gave to the workflow, or "".
func workflowTitle(source job.Source) string {
	var workflow struct {
		Name  any `json:"name"`
		Extra struct {
			Title any `json:"title"`
			Name  any `json:"name"`
		} `json:"extra"`
	}
	if json.Unmarshal(source.PNGInfo()["workflow"], &workflow) != nil {
		return ""
	}
	for _, name := range []any{workflow.Name, workflow.Extra.Title, workflow.Extra.Name} {
		if text, ok := name.(string); ok && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// titleOf returns the title of a job: that of its workflow, or the one in its metadata.
func titleOf(workflow string, metadata map[string]string) string {
	return cut(strings.TrimSpace(cmp.Or(workflow, metadata["title"], metadata["name"])), maxTitle)
}

func appendWord(text, word string) string {
	if word == "" || len(text) >= maxText {
		return text
	}
	return cut(text+" "+word, maxText)
}

// cut shortens text to at most n bytes, between characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// clean removes the characters that PostgreSQL cannot store in a text.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
}

// Patterns of the parts that differ between failures of one cause.
var (
	quoted  = regexp.MustCompile("'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
	ids     = regexp.MustCompile(`[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}|0x[0-9a-fA-F]+`)
	numbers = regexp.MustCompile(`\d+([.,]\d+)*`)
)

// Cause returns the message of a failure without the parts that differ between jobs: names in quotes, ids and
// numbers.
func Cause(f job.Failure) string {
	line, _, _ := strings.Cut(strings.TrimSpace(f.Message), "\n")
	line = quoted.ReplaceAllString(line, "…")
	line = ids.ReplaceAllString(line, "…")
	line = numbers.ReplaceAllString(line, "N")
	return clean(cut(cmp.Or(strings.TrimSpace(line), f.ExceptionType, string(f.Code)), maxCause))
}
