// Package eventlogtest contains the conformance suites of the event log's ports and an in-memory log that passes
// them, so that tests of other packages need no mocks.
package eventlogtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// TypeNoted is the event type that the suites append.
const TypeNoted = "test.noted.v1"

// NotedV1 is the data of a TypeNoted event.
type NotedV1 struct {
	Text string          `json:"text"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// Registry returns a registry with the type TypeNoted.
func Registry(tb testing.TB) *eventlog.Registry {
	tb.Helper()
	r := eventlog.NewRegistry()
	require.NoError(tb, r.Register(eventlog.TypeOf[NotedV1](TypeNoted)))
	return r
}

// Noted returns a new event with that text.
func Noted(text string) eventlog.Event {
	return eventlog.Event{ID: uuid.New(), Type: TypeNoted, Data: NotedV1{Text: text}}
}

// Run checks that a Store obeys the contract of eventlog.Store. newStore returns an empty or shared store with the
// event types of the registry.
func Run(t *testing.T, newStore func(testing.TB, *eventlog.Registry) eventlog.Store) {
	t.Helper()
	cases := []struct {
		name string
		test func(*testing.T, eventlog.Store)
	}{
		{"records events in order and reads them back", testRoundTrip},
		{"keeps the bytes of the data as written", testBytes},
		{"refuses a wrong expected version", testExpected},
		{"appends behind anything with any version", testAnyVersion},
		{"refuses to append to a closed stream", testClosed},
		{"answers a repeated id with what was recorded", testRepeat},
		{"refuses an id recorded in another stream", testForeignID},
		{"refuses another account's stream", testForeignAccount},
		{"refuses what it cannot read back", testInvalid},
		{"pages through a stream", testPages},
		{"lets one of many writers at a version win", testRace},
		{"records an event once when many record it at once", testRepeatRace},
		{"numbers concurrent appends without gaps", testConcurrent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, newStore(t, Registry(t)))
		})
	}
}

func fresh() string { return "note-" + uuid.NewString() }

func appendTo(stream string, expected int64, events ...eventlog.Event) eventlog.Append {
	return eventlog.Append{Stream: stream, Account: "acme", Expected: expected, Events: events}
}

func refused(t *testing.T, reason, err error) {
	t.Helper()
	require.ErrorIs(t, err, reason)
	require.Equal(t, fault.Conflict, fault.KindOf(err))
}

func versions(events []eventlog.Recorded) []int64 {
	out := make([]int64, len(events))
	for i, e := range events {
		out[i] = e.Version
	}
	return out
}

func testRoundTrip(t *testing.T, s eventlog.Store) {
	a := appendTo(fresh(), 0, Noted("one"), Noted("two"))
	a.Meta = eventlog.Meta{Actor: "acme", RequestID: "r1", Cause: "c", Reason: "because"}
	got, err := s.Append(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, versions(got))
	require.Less(t, got[0].Position, got[1].Position)
	for i, rec := range got {
		require.Equal(t, a.Stream, rec.Stream)
		require.Equal(t, "acme", rec.Account)
		require.Equal(t, a.Events[i].ID, rec.ID)
		require.Equal(t, a.Meta, rec.Meta)
		require.Equal(t, TypeNoted, rec.Type)
		require.Equal(t, "UTC", rec.RecordedAt.Location().String())
	}
	read, err := s.ReadStream(t.Context(), a.Stream, 0, 10)
	require.NoError(t, err)
	require.Equal(t, got, read)
}

func testBytes(t *testing.T, s eventlog.Store) {
	raw := json.RawMessage(`{"b":1,"a":[1.10,1e2,12345678901234567890],"nul":"\u0000<&>","b":2}`)
	e := eventlog.Event{ID: uuid.New(), Type: TypeNoted, Data: NotedV1{Text: "héllo <&>", Raw: raw}}
	a := appendTo(fresh(), 0, e)
	_, err := s.Append(t.Context(), a)
	require.NoError(t, err)
	read, err := s.ReadStream(t.Context(), a.Stream, 0, 1)
	require.NoError(t, err)
	var back NotedV1
	require.NoError(t, json.Unmarshal(read[0].Data, &back))
	require.Equal(t, string(raw), string(back.Raw))
	require.Equal(t, "héllo <&>", back.Text)
}

func testExpected(t *testing.T, s eventlog.Store) {
	stream := fresh()
	_, err := s.Append(t.Context(), appendTo(stream, 1, Noted("no such stream")))
	refused(t, eventlog.ErrVersion, err)
	_, err = s.Append(t.Context(), appendTo(stream, 0, Noted("first"), Noted("second")))
	require.NoError(t, err)
	for _, wrong := range []int64{0, 1, 3} {
		_, err = s.Append(t.Context(), appendTo(stream, wrong, Noted("wrong")))
		refused(t, eventlog.ErrVersion, err)
	}
	got, err := s.Append(t.Context(), appendTo(stream, 2, Noted("third")))
	require.NoError(t, err)
	require.Equal(t, []int64{3}, versions(got))
}

func testAnyVersion(t *testing.T, s eventlog.Store) {
	stream := fresh()
	for want := int64(1); want <= 3; want++ {
		got, err := s.Append(t.Context(), appendTo(stream, eventlog.AnyVersion, Noted("n")))
		require.NoError(t, err)
		require.Equal(t, []int64{want}, versions(got))
	}
}

func testClosed(t *testing.T, s eventlog.Store) {
	a := appendTo(fresh(), 0, Noted("only"))
	a.Close = true
	first, err := s.Append(t.Context(), a)
	require.NoError(t, err)
	again, err := s.Append(t.Context(), a)
	require.NoError(t, err, "the closing append may be repeated")
	require.Equal(t, first, again)
	for _, expected := range []int64{eventlog.AnyVersion, 1} {
		_, err = s.Append(t.Context(), appendTo(a.Stream, expected, Noted("late")))
		refused(t, eventlog.ErrClosed, err)
	}
	r := appendTo(a.Stream, eventlog.AnyVersion, Noted("retention"))
	r.Reopen = true
	got, err := s.Append(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []int64{2}, versions(got))
	_, err = s.Append(t.Context(), appendTo(a.Stream, 2, Noted("late")))
	refused(t, eventlog.ErrClosed, err)
}

func testRepeat(t *testing.T, s eventlog.Store) {
	first, second := Noted("first"), Noted("second")
	stream := fresh()
	recorded, err := s.Append(t.Context(), appendTo(stream, 0, first, second))
	require.NoError(t, err)
	first.Data = NotedV1{Text: "another text under the same id"}
	for _, expected := range []int64{0, 7, eventlog.AnyVersion} {
		got, err := s.Append(t.Context(), appendTo(stream, expected, first, Noted("never"), second))
		require.NoError(t, err)
		require.Equal(t, recorded, got)
	}
	read, err := s.ReadStream(t.Context(), stream, 0, 10)
	require.NoError(t, err)
	require.Equal(t, recorded, read)
}

func testForeignID(t *testing.T, s eventlog.Store) {
	e, stream := Noted("mine"), fresh()
	_, err := s.Append(t.Context(), appendTo(stream, 0, e))
	require.NoError(t, err)
	_, err = s.Append(t.Context(), appendTo(fresh(), 0, e))
	refused(t, eventlog.ErrDuplicate, err)
	_, err = s.Append(t.Context(), appendTo(stream, 1, Noted("new"), e))
	refused(t, eventlog.ErrDuplicate, err)
	got, err := s.Append(t.Context(), appendTo(stream, 1, Noted("next")))
	require.NoError(t, err, "a refused append moves no version")
	require.Equal(t, []int64{2}, versions(got))
}

func testForeignAccount(t *testing.T, s eventlog.Store) {
	e, stream := Noted("mine"), fresh()
	_, err := s.Append(t.Context(), appendTo(stream, 0, e))
	require.NoError(t, err)
	for _, event := range []eventlog.Event{Noted("theirs"), e} {
		a := appendTo(stream, eventlog.AnyVersion, event)
		a.Account = "other"
		_, err = s.Append(t.Context(), a)
		require.Equal(t, fault.Conflict, fault.KindOf(err))
	}
}

func testInvalid(t *testing.T, s eventlog.Store) {
	huge := Noted(strings.Repeat("x", eventlog.MaxEventBytes))
	cases := map[string]eventlog.Append{
		"unknown type":      appendTo(fresh(), 0, eventlog.Event{ID: uuid.New(), Type: "test.unknown.v1", Data: NotedV1{}}),
		"another data type": appendTo(fresh(), 0, eventlog.Event{ID: uuid.New(), Type: TypeNoted, Data: 7}),
		"too large":         appendTo(fresh(), 0, huge),
		"no events":         appendTo(fresh(), 0),
		"no stream":         appendTo("", 0, Noted("x")),
		"no account":        {Stream: fresh(), Events: []eventlog.Event{Noted("x")}},
	}
	for name, a := range cases {
		_, err := s.Append(t.Context(), a)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%s: %v", name, err)
	}
}

func testPages(t *testing.T, s eventlog.Store) {
	stream := fresh()
	events := make([]eventlog.Event, 7)
	for i := range events {
		events[i] = Noted(fmt.Sprint(i))
	}
	all, err := s.Append(t.Context(), appendTo(stream, 0, events...))
	require.NoError(t, err)
	var got []eventlog.Recorded
	for after := int64(0); ; {
		page, err := s.ReadStream(t.Context(), stream, after, 3)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		require.LessOrEqual(t, len(page), 3)
		got = append(got, page...)
		after = page[len(page)-1].Version
	}
	require.Equal(t, all, got)
}

// together calls f n times concurrently and returns the errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			errs[i] = f(i)
		})
	}
	start.Done()
	done.Wait()
	return errs
}

func testRace(t *testing.T, s eventlog.Store) {
	stream := fresh()
	for version := range int64(3) {
		won := 0
		for _, err := range together(8, func(int) error {
			_, err := s.Append(t.Context(), appendTo(stream, version, Noted("x")))
			return err
		}) {
			if err == nil {
				won++
				continue
			}
			refused(t, eventlog.ErrVersion, err)
		}
		require.Equal(t, 1, won)
	}
}

func testRepeatRace(t *testing.T, s eventlog.Store) {
	for _, expected := range []int64{0, eventlog.AnyVersion} {
		a := appendTo(fresh(), expected, Noted("fact"))
		ids := make([]int64, 8)
		err := errors.Join(together(len(ids), func(i int) error {
			got, err := s.Append(t.Context(), a)
			if err == nil {
				ids[i] = got[0].Position
			}
			return err
		})...)
		require.NoError(t, err)
		for _, position := range ids {
			require.Equal(t, ids[0], position)
		}
		read, err := s.ReadStream(t.Context(), a.Stream, 0, 10)
		require.NoError(t, err)
		require.Len(t, read, 1)
	}
}

func testConcurrent(t *testing.T, s eventlog.Store) {
	stream := fresh()
	const writers, each = 8, 5
	err := errors.Join(together(writers, func(int) error {
		for range each {
			if _, err := s.Append(t.Context(), appendTo(stream, eventlog.AnyVersion, Noted("a"), Noted("b"))); err != nil {
				return err
			}
		}
		return nil
	})...)
	require.NoError(t, err)
	read, err := s.ReadStream(t.Context(), stream, 0, 2*writers*each+1)
	require.NoError(t, err)
	require.Len(t, read, 2*writers*each)
	for i, rec := range read {
		require.Equal(t, int64(i+1), rec.Version)
		if i > 0 {
			require.Less(t, read[i-1].Position, rec.Position)
		}
	}
}
