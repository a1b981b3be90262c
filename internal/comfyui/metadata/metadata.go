// Package metadata puts the submitted graph into the files that a ComfyUI server saved. A server writes the prompt
// that it received into these files; this prompt differs from the submitted graph, because nodes were added, files
// renamed and parts left out. The prompt is sent with two marks, and the text between them is replaced in each file.
// The package promises that a file without marks is copied byte for byte, and that memory is bounded by the size of
// the text, not of the file.
package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/image"
)

// Graph is a submitted graph with the marks of the prompt that stands for it.
type Graph struct {
	begin, end string // ids of the nodes that mark the begin and the end of the prompt
	text       []byte // the graph in the form that ComfyUI writes into files
}

// New returns a graph whose marks begin with mark. No other prompt may contain mark.
func New(mark string, graph json.RawMessage) (*Graph, error) {
	texts, err := image.Metadata(&node.Call{Prompt: graph})
	if err != nil {
		return nil, fmt.Errorf("write a graph as metadata: %w", err)
	}
	g := &Graph{begin: mark + "-begin", end: mark + "-end", text: []byte("{}")}
	if len(texts) > 0 {
		g.text = []byte(texts[0].Value)
	}
	return g, nil
}

// markNode is a node that no output reads and that therefore never runs.
const markNode = `"class_type":"EmptyImage","inputs":{"width":16,"height":16,"batch_size":1,"color":0}`

// slack is the number of bytes by which a server may write a prompt shorter than it was sent.
const slack = 256

// Mark returns a prompt, an object in compact JSON with at least one node, with the marks around its nodes. The
// result is long enough to be replaced by the graph.
func (g *Graph) Mark(prompt []byte) []byte {
	room := max(0, len(escaped(g.text))+slack-len(prompt))
	return fmt.Appendf(nil, `{%q:{%s,"_meta":{"title":%q}},%s,%q:{%s}}`,
		g.begin, markNode, strings.Repeat(" ", room), prompt[1:len(prompt)-1], g.end, markNode)
}

// escaped returns a text as it appears within a JSON string.
func escaped(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`\`), []byte(`\\`))
	return bytes.ReplaceAll(text, []byte(`"`), []byte(`\"`))
}

// maxText bounds the text of a prompt in a file.
const maxText = 64 << 20

// markedPrompt is the position of a marked prompt in data.
type markedPrompt struct {
	start, end int
	escaped    bool // the prompt is within a JSON string
}

// find returns the position of the first marked prompt. whole is false if data does not contain its end, and ok is
// false if data does not contain its begin.
func (g *Graph) find(data []byte) (f markedPrompt, whole, ok bool) {
	at := bytes.Index(data, []byte(g.begin))
	if at < 2 {
		return markedPrompt{}, false, false
	}
	f.start = bytes.LastIndexByte(data[max(0, at-3):at], '{')
	if f.start < 0 {
		return markedPrompt{}, false, false
	}
	f.start += max(0, at-3)
	f.escaped = data[at-2] == '\\'
	last := bytes.Index(data[at:], []byte(g.end))
	if last < 0 {
		return f, false, true
	}
	depth := 0
	for i := at + last; i < len(data); i++ { // the texts of the end mark contain no braces
		switch data[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				f.end = i + 1
				return f, true, true
			}
		}
	}
	return f, false, true
}

// insertAt returns data with the graph at a position. With pad, the length does not change.
func (g *Graph) insertAt(data []byte, f markedPrompt, pad bool) []byte {
	text := g.fit(f, pad)
	out := make([]byte, 0, len(data)+len(text))
	out = append(out, data[:f.start]...)
	out = append(out, text...)
	return append(out, data[f.end:]...)
}

// fit returns the text that replaces the prompt at a position.
func (g *Graph) fit(f markedPrompt, pad bool) []byte {
	text, room := g.text, f.end-f.start
	if f.escaped {
		text = escaped(text)
	}
	if !pad {
		return text
	}
	if len(text) > room {
		var b bytes.Buffer
		if json.Compact(&b, g.text) == nil {
			text = b.Bytes()
		}
		if f.escaped {
			text = escaped(text)
		}
	}
	if len(text) > room { // rather no graph than a wrong one
		text = []byte("{}")
	}
	return append(bytes.Clone(text), bytes.Repeat([]byte(" "), room-len(text))...)
}

// all replaces every marked prompt in data.
func (g *Graph) all(data []byte, pad bool) []byte {
	var done []byte
	for {
		f, whole, ok := g.find(data)
		if !ok || !whole {
			return append(done, data...)
		}
		text := g.fit(f, pad)
		done = append(append(done, data[:f.start]...), text...)
		data = data[f.end:]
	}
}

// Copy copies a file with the graph in place of the marked prompt.
func (g *Graph) Copy(w io.Writer, r io.Reader) error {
	head := make([]byte, len(pngSignature))
	n, err := io.ReadFull(r, head)
	if err != nil && n == 0 {
		return truncatedFile(err)
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), r)
	switch {
	case string(head[:n]) == pngSignature:
		return g.copyPNG(w, whole)
	case bytes.HasPrefix(head[:n], []byte(oggPage)):
		return g.copyOgg(w, whole)
	}
	return g.copyPadded(w, whole)
}

// truncatedFile returns the error for a file that ends early: nil, since the rest of the file is copied unchanged.
func truncatedFile(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // errors of io.ReadFull
		return nil
	}
	return err
}

// window is the number of bytes that are searched at a time.
const window = 256 << 10

// copyPadded replaces the prompt by a text of the same length, which leaves all other offsets in the file unchanged.
func (g *Graph) copyPadded(w io.Writer, r io.Reader) error {
	var data []byte
	part := make([]byte, window)
	for {
		n, err := io.ReadFull(r, part)
		data = append(data, part[:n]...)
		if err != nil {
			if truncatedFile(err) != nil {
				return err
			}
			_, err = w.Write(g.all(data, true))
			return err
		}
		if data, err = g.flush(w, data); err != nil {
			return err
		}
	}
}

// flush writes the part of data that cannot belong to a mark, and returns the rest.
func (g *Graph) flush(w io.Writer, data []byte) ([]byte, error) {
	for {
		f, whole, ok := g.find(data)
		sure := len(data) - len(g.begin) - 3 // a mark may begin before the end
		if ok {
			sure = f.start
		}
		if ok && whole {
			data = g.insertAt(data, f, true)
			sure = f.end
		}
		if len(data)-sure > maxText {
			sure = len(data) // no prompt is that long
		}
		if sure <= 0 {
			return data, nil
		}
		if _, err := w.Write(data[:sure]); err != nil {
			return nil, err
		}
		data = data[sure:]
		if !whole {
			return bytes.Clone(data), nil
		}
	}
}
