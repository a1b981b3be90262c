package hidden_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/hidden"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

var errAway = errors.New("the database is away")

// ledger is an account's jobs and its stream.
type ledger struct {
	state    hidden.State
	ended    []string
	read     error
	write    error
	appended []eventlog.Append
}

func (l *ledger) Ended(context.Context, string, []string) ([]string, error) { return l.ended, l.read }

func (l *ledger) State(context.Context, string) (hidden.State, error) { return l.state, l.read }

func (l *ledger) Append(_ context.Context, a eventlog.Append) ([]eventlog.Recorded, error) {
	l.appended = append(l.appended, a)
	return nil, l.write
}

// recorded returns the data of the events, each of which has an id of its own, and its type.
func (l *ledger) recorded(t *testing.T) (all []any) {
	t.Helper()
	require.Len(t, l.appended, 1)
	a := l.appended[0]
	require.Equal(t, eventlog.AppendTo("history-acme", "acme", eventlog.Meta{Actor: "acme", RequestID: "r"}, a.Events...), a)
	seen := map[uuid.UUID]bool{}
	for _, e := range a.Events {
		require.False(t, seen[e.ID])
		seen[e.ID] = true
		switch e.Data.(type) {
		case hidden.ClearedV1:
			require.Equal(t, hidden.TypeCleared, e.Type)
		case hidden.JobsHiddenV1:
			require.Equal(t, hidden.TypeJobsHidden, e.Type)
		}
		all = append(all, e.Data)
	}
	return all
}

func jobs(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

// Clearing hides what has ended up to a position and after it, and keeps what has not ended.
func TestClearingKeepsWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	l := &ledger{state: hidden.State{Position: 7, Active: []string{"a"}, Ended: []string{"b"}}}
	require.NoError(t, hidden.Service{Events: l, Jobs: l}.Clear(t.Context(), "acme", "r"))
	require.Equal(t, []any{hidden.ClearedV1{Position: 7, Kept: []string{"a"}}, hidden.JobsHiddenV1{Jobs: []string{"b"}}}, l.recorded(t))
	marks := hidden.Marks{Hidden: []string{"x"}}
	for i, e := range l.recorded(t) {
		marks = marks.Fold(int64(i+1), e)
	}
	require.Equal(t, hidden.Marks{Version: 2, Cleared: 7, Kept: []string{"a"}, Hidden: []string{"b"}}, marks)
	require.Equal(t, hidden.Marks{Version: 3, Cleared: 7, Kept: []string{"a"}, Hidden: []string{"b"}}, marks.Fold(3, "unknown"))
}

// One event hides at most a thousand jobs.
func TestAnEventHidesAThousandJobs(t *testing.T) {
	t.Parallel()
	for n, events := range map[int]int{1000: 1, 1001: 2, 2000: 2} {
		l := &ledger{ended: jobs(n)}
		require.NoError(t, hidden.Service{Events: l, Jobs: l}.Hide(t.Context(), "acme", nil, "r"))
		var all []string
		recorded := l.recorded(t)
		require.Len(t, recorded, events)
		for _, e := range recorded {
			all = append(all, e.(hidden.JobsHiddenV1).Jobs...)
		}
		require.Equal(t, l.ended, all)
	}
}

// What cannot be read or recorded is an error.
func TestAHistoryThatCannotBeChangedIsAnError(t *testing.T) {
	t.Parallel()
	for _, l := range []*ledger{{ended: jobs(1), read: errAway}, {ended: jobs(1), write: errAway}} {
		s := hidden.Service{Events: l, Jobs: l}
		require.ErrorIs(t, s.Hide(t.Context(), "acme", nil, "r"), errAway)
		require.ErrorIs(t, s.Clear(t.Context(), "acme", "r"), errAway)
		require.Equal(t, map[bool]int{true: 2}[l.write != nil], len(l.appended))
	}
}

// A snapshot of marks that was read does not change.
func TestMarksThatWereReadDoNotChange(t *testing.T) {
	t.Parallel()
	list := make([]string, 1, 8)
	list[0] = "a"
	before := hidden.Marks{Version: 1, Hidden: list}
	one, other := before.Fold(2, hidden.JobsHiddenV1{Jobs: []string{"b"}}), before.Fold(2, hidden.JobsHiddenV1{Jobs: []string{"c"}})
	require.Equal(t, []string{"a", "b"}, one.Hidden)
	require.Equal(t, []string{"a", "c"}, other.Hidden)
}
