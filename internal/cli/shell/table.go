package shell

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Table is a list for people, with aligned columns. Nothing is written before Flush.
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

// Row adds a row. Cells are printed as by fmt.Print. Callers must clean text that comes from clients.
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

// When formats a time for lists, and the zero time as "-".
func When(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// OrDash formats a text for lists, and an empty text as "-".
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
