package shell

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Table is a list for people: rows whose columns are aligned. Nothing is written before Flush.
type Table struct {
	out  io.Writer
	rows bytes.Buffer
}

// NewTable returns a table with these columns. Without columns it has no heading.
func NewTable(out io.Writer, columns ...string) *Table {
	t := &Table{out: out}
	if len(columns) > 0 {
		t.rows.WriteString(strings.Join(columns, "\t") + "\n")
	}
	return t
}

// Row adds a row. Its cells are printed as by fmt.Print; one that others chose has to be cleaned before.
func (t *Table) Row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			t.rows.WriteByte('\t')
		}
		fmt.Fprint(&t.rows, cell)
	}
	t.rows.WriteByte('\n')
}

// Flush writes the table.
func (t *Table) Flush() error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	if _, err := w.Write(t.rows.Bytes()); err != nil {
		return err
	}
	return w.Flush()
}

// When is a time as lists show it, or "-".
func When(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// OrDash is a text as lists show it: "-" for an empty one.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
