package shell_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli/shell"
)

func TestTableAlignsItsColumns(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := shell.NewTable(&out, "NAME", "JOBS", "SEEN")
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	table.Row("a", 12, shell.When(&at))
	table.Row("longer", 3, shell.When(nil))
	require.Empty(t, out.String())
	require.NoError(t, table.Flush())
	require.Equal(t, "NAME    JOBS  SEEN\na       12    2026-05-04T03:02:01Z\nlonger  3     -\n", out.String())
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestTableReportsThatItCannotBeWritten(t *testing.T) {
	t.Parallel()
	table := shell.NewTable(closed{}, "NAME", "JOBS")
	table.Row("a", 1)
	require.EqualError(t, table.Flush(), "closed")
}
