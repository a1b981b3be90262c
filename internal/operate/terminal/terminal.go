// Package terminal writes what operators read in a terminal: tables and fields. It promises that no text
// of somebody else moves the cursor, changes a colour or breaks a table. Its callers decide what to write.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"
)

// Width is the maximum width of a line of human output, in columns.
const Width = 100

// Style is the style of a cell on a terminal with colours.
type Style string

// The styles, as SGR parameters of ANSI terminals.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Good   Style = "32"
	Bad    Style = "31"
	Notice Style = "33"
)

// Printer writes human output in aligned columns. The only control sequences it writes are its own colours.
type Printer struct {
	Out    io.Writer
	Colour bool
	err    error
}

// Err returns the first write error.
func (p *Printer) Err() error { return p.err }

// Printf writes text without a style. Nothing is written after an error.
func (p *Printer) Printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Out, format, args...)
	}
}

// Paint adds a style to text.
func (p *Printer) Paint(text string, style Style) string {
	if !p.Colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Cell is one entry of a table.
type Cell struct {
	Text  string
	Style Style
	Right bool // numbers
}

// Cells returns cells without a style.
func Cells(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, t := range texts {
		row[i] = Cell{Text: t}
	}
	return row
}

// Table writes rows below a header. The last column takes the rest of the line. A row of one cell is a line
// of its own.
func (p *Printer) Table(head []string, rows [][]Cell) {
	all := rows
	if len(head) > 0 {
		top := Cells(head...)
		for i := range top {
			top[i].Style, top[i].Right = Faint, len(rows) > 0 && i < len(rows[0]) && rows[0][i].Right
		}
		all = append([][]Cell{top}, rows...)
	}
	widths := make([]int, len(head))
	for _, row := range all {
		for i, c := range row {
			if len(row) > 1 {
				widths[i] = max(widths[i], uniseg.StringWidth(Clean(c.Text)))
			}
		}
	}
	for _, row := range all {
		p.Row(row, widths)
	}
}

func (p *Printer) Row(row []Cell, widths []int) {
	var line strings.Builder
	used := 0
	for i, c := range row {
		text := Clean(c.Text)
		if i == len(row)-1 {
			line.WriteString(p.Paint(Clip(text, Width-used), c.Style))
			break
		}
		gap := strings.Repeat(" ", max(0, widths[i]-uniseg.StringWidth(text)))
		if c.Right {
			line.WriteString(gap + p.Paint(text, c.Style))
		} else {
			line.WriteString(p.Paint(text, c.Style) + gap)
		}
		line.WriteString("  ")
		used += widths[i] + 2
	}
	p.Printf("%s\n", strings.TrimRight(line.String(), " "))
}

// Field writes a name and its value, and nothing for an empty value.
func (p *Printer) Field(name, value string, style Style) {
	if value == "" {
		return
	}
	const names = 12
	p.Printf("%s%s\n", p.Paint(fmt.Sprintf("%-*s", names, name), Faint), p.Paint(Clip(Clean(value), Width-names), style))
}

// Line writes a line of plain text, or an empty one.
func (p *Printer) Line(text string, style Style) {
	p.Printf("%s\n", p.Paint(Clip(Clean(text), Width), style))
}

// Clean replaces characters that control a terminal or hide other text: control characters, line ends and
// bidirectional marks.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), r == unicode.ReplacementChar, unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			return '�'
		}
		return r
	}, text)
}

// Clip truncates text to a number of columns, with an ellipsis.
func Clip(text string, columns int) string {
	if text == "" || uniseg.StringWidth(text) <= columns {
		return text
	}
	var out strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if used += g.Width(); used > columns-1 {
			break
		}
		out.WriteString(g.Str())
	}
	return out.String() + "…"
}

// Wrap splits text into lines of at most columns columns.
func Wrap(text string, columns int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if used += g.Width(); used > columns {
			lines = append(lines, line.String())
			line.Reset()
			used = g.Width()
		}
		line.WriteString(g.Str())
	}
	return append(lines, line.String())
}

// Stamp writes a time to the millisecond, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }
