package terminal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

func TestColumnsAreAligned(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	list := terminal.NewColumns(&out, "NAME", "JOBS", "SEEN")
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	list.Row("a", 12, terminal.When(&at))
	list.Row("longer", 3, terminal.When(nil))
	require.Empty(t, out.String())
	require.NoError(t, list.Flush())
	require.Equal(t, "NAME    JOBS  SEEN\na       12    2026-05-04T03:02:01Z\nlonger  3     -\n", out.String())
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestColumnsReportThatTheyCannotBeWritten(t *testing.T) {
	t.Parallel()
	list := terminal.NewColumns(closed{}, "NAME", "JOBS")
	list.Row("a", 1)
	require.EqualError(t, list.Flush(), "closed")
}
