package committer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/committer"
)

var (
	errRefused = errors.New("refused")
	errOwn     = errors.New("its own failure")
	errHidden  = errors.New("a failure of nobody knows whom")
)

// transactions does works whose names say how they go, and remembers what each transaction did.
type transactions struct {
	tried, committed [][]string
	broken           error // of every transaction
}

func (t *transactions) do(works []string) (own []error, err error) {
	t.tried = append(t.tried, slices.Clone(works))
	if t.broken != nil {
		return nil, t.broken
	}
	own = make([]error, len(works))
	for i, work := range works {
		switch work {
		case "fails":
			own[i], err = errOwn, errOwn
		case "spoils":
			err = errHidden
		}
	}
	if err != nil {
		return own, err
	}
	t.committed = append(t.committed, slices.Clone(works))
	for i, work := range works {
		if work == "refused" {
			own[i] = errRefused
		}
	}
	return own, nil
}

func TestOneTransactionCommitsWhatOneDoes(t *testing.T) {
	t.Parallel()
	var all transactions
	outcomes := committer.Jointly([]string{"a", "refused", "b"}, all.do)
	require.Equal(t, []error{nil, errRefused, nil}, outcomes)
	require.Equal(t, [][]string{{"a", "refused", "b"}}, all.committed)
}

func TestAWorkThatFailsTheTransactionIsDoneAlone(t *testing.T) {
	t.Parallel()
	var all transactions
	outcomes := committer.Jointly([]string{"a", "fails", "refused", "b"}, all.do)
	require.Equal(t, []error{nil, errOwn, errRefused, nil}, outcomes)
	require.Equal(t, [][]string{{"a", "refused", "b"}}, all.committed)
	require.Equal(t, []string{"fails"}, all.tried[2])
}

func TestWorksRunSeparatelyIfTheFailedOneIsUnknown(t *testing.T) {
	t.Parallel()
	var all transactions
	outcomes := committer.Jointly([]string{"a", "spoils", "b"}, all.do)
	require.Equal(t, []error{nil, errHidden, nil}, outcomes)
	require.Equal(t, [][]string{{"a"}, {"b"}}, all.committed)
}

// What may be committed is not done again.
func TestUnknownOutcomeIsReportedToEveryCaller(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"ambiguous": postgres.Ambiguous(errHidden), "canceled": context.Canceled, "unavailable": fault.New(fault.Unavailable, "", "no database"),
	} {
		all := transactions{broken: err}
		require.Equal(t, []error{err, err}, committer.Jointly([]string{"a", "b"}, all.do), name)
		require.Len(t, all.tried, 1, name)
	}
}
