package text

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The formats of SaveText and their content types.
const (
	formatText     = "txt"
	formatCSV      = "csv"
	formatMarkdown = "md"
	formatJSON     = "json"
)

func contentType(format string) (string, bool) {
	t, ok := map[string]string{
		formatText: "text/plain; charset=utf-8", formatCSV: "text/csv; charset=utf-8",
		formatMarkdown: "text/markdown; charset=utf-8", formatJSON: "application/json",
	}[format]
	return t, ok
}

// savingText is the cost of storing a small file.
const savingText = 5 * time.Millisecond

// SaveText writes a text to the account's output folder and passes it on.
func SaveText() *node.Class {
	return &node.Class{
		Name: "SaveText", DisplayName: "Save Text", Category: "text", Module: "comfy_extras.nodes_text",
		Description:   "Writes the text as a file into the output folder. JSON is indented if it is valid.",
		SearchAliases: []string{"export text", "write text", "text output"},
		Inputs: []node.Input{
			{Name: "text", Type: node.String, ForceInput: true, Tooltip: "The text to write."},
			{Name: "filename_prefix", Type: node.String, Default: "ComfyUI", Tooltip: "How the file name begins."},
			{
				Name: "format", Type: node.Combo, Options: []string{formatText, formatCSV, formatMarkdown, formatJSON},
				Default: formatText, Tooltip: "The kind of file.",
			},
			{Name: "prompt", Type: "PROMPT", Section: node.Hidden},
			{Name: "extra_pnginfo", Type: "EXTRA_PNGINFO", Section: node.Hidden},
		},
		Outputs:    []node.Output{{Type: node.String, Name: "text"}},
		OutputNode: true,
		Cost:       func(node.Args, int64) time.Duration { return savingText },
		Run:        runSaveText,
	}
}

func runSaveText(ctx context.Context, call *node.Call) (node.Result, error) {
	text, prefix, format := call.String("text"), call.String("filename_prefix"), call.String("format")
	kind, known := contentType(format)
	if !known {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeInputType, "unknown format %.64q", format)
	}
	content := text
	if format == formatJSON {
		content = indented(text)
	}
	file, err := call.Files.Save(ctx, node.Save{
		Folder: node.FolderOutput, Prefix: node.ExpandName(prefix, 0, 0, call.SubmittedAt), Suffix: "." + format, ContentType: kind,
	}, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	if err != nil {
		return node.Result{}, err
	}
	return node.Result{
		Outputs: []node.Value{text}, UI: map[string][]any{"text": {text}, "files": {file}},
	}, nil
}

// maxIndented bounds the JSON that is indented, because the result can be much larger.
const maxIndented = 1 << 20

// indented returns JSON with two spaces a level, and anything else unchanged.
func indented(text string) string {
	var b bytes.Buffer
	if len(text) > maxIndented || strings.Count(text, "[")+strings.Count(text, "{") > maxIndented/64 ||
		json.Indent(&b, []byte(text), "", "  ") != nil || b.Len() > maxLength {
		return text
	}
	return b.String()
}
