package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/fault"
)

const sumStream = "sum-1"

type addedV1 struct {
	Amount int `json:"amount"`
}

// doubledV1 is of a type that only the newer version of the program has.
type doubledV1 struct{}

func sumTypes(t *testing.T, types ...eventlog.Type) *eventlog.Registry {
	t.Helper()
	r := eventlog.NewRegistry()
	require.NoError(t, r.Register(append(types, eventlog.TypeOf[addedV1]("sum.added.v1"))...))
	return r
}

// newerLog is a log whose writer knows a type more than the registry of older.
func newerLog(t *testing.T) (log *eventlogtest.Memory, older *eventlog.Registry) {
	t.Helper()
	return eventlogtest.NewMemory(sumTypes(t, eventlog.TypeOf[doubledV1]("sum.doubled.v1"))), sumTypes(t)
}

func record(t *testing.T, log eventlog.Store, data ...any) {
	t.Helper()
	for _, d := range data {
		e := eventlog.Event{ID: uuid.New(), Type: "sum.added.v1", Data: d}
		if _, newer := d.(doubledV1); newer {
			e.Type = "sum.doubled.v1"
		}
		_, err := log.Append(t.Context(), eventlog.Append{
			Stream: sumStream, Account: "local", Expected: eventlog.AnyVersion,
			Events: []eventlog.Event{e},
		})
		require.NoError(t, err)
	}
}

type sum struct {
	total   int
	version int64
}

func foldSum(s sum, rec eventlog.Recorded, data any) sum {
	s.version = rec.Version
	if e, ok := data.(addedV1); ok {
		s.total += e.Amount
	}
	return s
}

func TestFoldPassesOverTypesItDoesNotKnow(t *testing.T) {
	t.Parallel()
	log, older := newerLog(t)
	record(t, log, addedV1{1}, doubledV1{}, addedV1{2}, doubledV1{})

	got, err := eventlog.Fold(older, eventlog.Read(t.Context(), log, sumStream, 0), sum{}, foldSum)
	require.NoError(t, err)
	require.Equal(t, sum{total: 3, version: 4}, got, "the unknown events move the version, and nothing else")
}

func TestFoldFailsAtDataThatItCannotRead(t *testing.T) {
	t.Parallel()
	_, err := eventlog.Fold(sumTypes(t), eventlog.All([]eventlog.Recorded{{
		Version: 1, Type: "sum.added.v1",
		Data: json.RawMessage(`{"amount":"x"}`),
	}}), sum{}, foldSum)
	require.ErrorContains(t, err, "decode sum.added.v1")
}

func TestDecodeOfAnUnknownTypeMayWorkElsewhere(t *testing.T) {
	t.Parallel()
	_, err := sumTypes(t).Decode("sum.doubled.v1", json.RawMessage(`{}`))
	require.ErrorIs(t, err, eventlog.ErrUnknownType)
	require.True(t, fault.Is(err, fault.Unavailable), "it is no final answer: a newer process reads it")
}

func TestReadPagesThroughALongStream(t *testing.T) {
	t.Parallel()
	log, types := newerLog(t)
	for range 1001 { // three pages, the last of one event
		record(t, log, addedV1{1})
	}
	events := eventlog.Read(t.Context(), log, sumStream, 0)
	for range 2 { // an iterator begins anew each time
		got, err := eventlog.Fold(types, events, sum{}, foldSum)
		require.NoError(t, err)
		require.Equal(t, sum{total: 1001, version: 1001}, got)
	}
	rest, err := eventlog.Collect(eventlog.Read(t.Context(), log, sumStream, 999))
	require.NoError(t, err)
	require.Len(t, rest, 2)
}

func TestReadThroughRefusesAStreamThatEndsEarly(t *testing.T) {
	t.Parallel()
	log, types := newerLog(t)
	record(t, log, addedV1{1}, addedV1{1})

	got, err := eventlog.Fold(types, eventlog.ReadThrough(t.Context(), log, sumStream, 0, 2), sum{}, foldSum)
	require.NoError(t, err)
	require.Equal(t, sum{2, 2}, got)
	_, err = eventlog.Fold(types, eventlog.ReadThrough(t.Context(), log, sumStream, 1, 3), sum{}, foldSum)
	require.ErrorContains(t, err, "ends at version 2, not 3")
	_, err = eventlog.Fold(types, eventlog.ReadThrough(t.Context(), unreadable{}, sumStream, 3, 3), sum{}, foldSum)
	require.NoError(t, err, "nothing is read where nothing is missing")
}

func TestReadYieldsTheErrorLast(t *testing.T) {
	t.Parallel()
	next, stop := iter.Pull2(eventlog.Read(t.Context(), unreadable{}, sumStream, 0))
	defer stop()
	_, err, ok := next()
	require.True(t, ok)
	require.ErrorIs(t, err, errUnreadable)
	_, _, ok = next()
	require.False(t, ok)
}

var errUnreadable = errors.New("unreadable")

type unreadable struct{}

func (unreadable) ReadStream(context.Context, string, int64, int) ([]eventlog.Recorded, error) {
	return nil, errUnreadable
}
