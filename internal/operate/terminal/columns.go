package terminal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Columns is a list for people, with aligned columns of any width. Nothing is written before Flush.
type Columns struct {
	out  io.Writer
	rows bytes.Buffer
}

// NewColumns returns a list with these columns. Without names it has no heading.
func NewColumns(out io.Writer, names ...string) *Columns {
	c := &Columns{out: out}
	if len(names) > 0 {
		c.rows.WriteString(strings.Join(names, "\t") + "\n")
	}
	return c
}

// Row adds a row. Cells are printed as by fmt.Print, times as by When, and cleaned.
func (c *Columns) Row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			c.rows.WriteByte('\t')
		}
		if at, ok := cell.(*time.Time); ok {
			cell = When(at)
		}
		c.rows.WriteString(Clean(fmt.Sprint(cell)))
	}
	c.rows.WriteByte('\n')
}

// Flush writes the list.
func (c *Columns) Flush() error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if _, err := w.Write(c.rows.Bytes()); err != nil {
		return err
	}
	return w.Flush()
}

// Columns writes a list with these columns; add adds its rows.
func (p *Printer) Columns(names []string, add func(row func(cells ...any))) {
	c := NewColumns(p.Out, names...)
	add(c.Row)
	if p.err == nil {
		p.err = c.Flush()
	}
}

// When formats a time for lists, and the zero time as "-".
func When(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// OrDash formats a text for lists, and an empty text as "-".
func OrDash(text string) string {
	return cmp.Or(text, "-")
}
