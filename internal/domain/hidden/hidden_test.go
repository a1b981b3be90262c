package hidden_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// history is an account with finished jobs.
type history struct {
	ended    []string
	err      error
	recorded []any
}

func (h *history) Ended(context.Context, string, []string) ([]string, error) { return h.ended, h.err }

func (h *history) State(context.Context, string) (hidden.State, error) {
	return hidden.State{Ended: h.ended}, h.err
}

func (h *history) Append(_ context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	for _, e := range a.Events {
		h.recorded = append(h.recorded, e.Data)
	}
	return nil, nil
}

// Only jobs that have ended are hidden, and nothing is recorded if there is none.
func TestJobsThatHaveEndedAreHidden(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*history{
		"ended": {ended: []string{"1"}}, "not ended": {}, "not known": {ended: []string{"1"}, err: errors.New("away")},
	} {
		err := hidden.Service{Events: h, Jobs: h}.Hide(t.Context(), "a", []string{"1", "2"}, "r")
		require.Equal(t, h.err, err, name)
		if len(h.ended) == 0 || h.err != nil {
			require.Empty(t, h.recorded, name)
			continue
		}
		require.Equal(t, []any{hidden.JobsHiddenV1{Jobs: []string{"1"}}}, h.recorded, name)
	}
}

func TestAStreamBelongsToItsAccount(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		hidden.Stream("a"): "a", hidden.Stream("history-a"): "history-a", hidden.Stream(""): "", "job-history-a": "", "his": "", "": "",
	} {
		account, ok := hidden.AccountOfStream(stream)
		require.Equal(t, want, account, stream)
		require.Equal(t, want != "", ok, stream)
	}
}

// The latest event may be read twice.
func TestMarksAreFoldedOnce(t *testing.T) {
	t.Parallel()
	marks := hidden.Marks{}.Fold(1, hidden.JobsHiddenV1{Jobs: []string{"1"}})
	require.Equal(t, marks, marks.Fold(1, hidden.JobsHiddenV1{Jobs: []string{"1"}}))
	require.Equal(t, []string{"1", "2"}, marks.Fold(2, hidden.JobsHiddenV1{Jobs: []string{"2"}}).Hidden)
}
