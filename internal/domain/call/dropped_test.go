package call_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

func TestDroppedParamsStayWithinTheHeadersBounds(t *testing.T) { // router contract, Router-Dropped-Params
	t.Parallel()
	require.Empty(t, call.DroppedParams(nil))
	require.Equal(t, `["a","b\"\n"]`, call.DroppedParams([]string{"a", "b\"\n"}))
	require.Equal(t, `["\u00e9\ud83d\ude00\u007f"]`, call.DroppedParams([]string{"é😀\x7f"}))
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, names := range map[string][]string{
		"many": many, "long": {strings.Repeat("x", 5000)}, "wide": {strings.Repeat("😀", 200)},
		"no UTF-8":      {strings.Repeat("\xff", 400) + "a", "b"},
		"many and long": strings.Split(strings.Repeat(strings.Repeat("y", 290)+" ", 30), " "),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDropped(t, names)
		})
	}
}

// A call is recorded whatever its body holds: an event beyond the log's bound would keep a paid answer from its caller.
func TestDroppedFieldsAreBoundedInEvents(t *testing.T) {
	t.Parallel()
	many := make([]string, 500_000)
	for i := range many {
		many[i] = fmt.Sprintf("unknown_field_%d", i)
	}
	types := eventlog.NewRegistry()
	require.NoError(t, call.Register(types))
	event := func(names []string) eventlog.Event {
		return eventlog.Event{Type: call.TypeAnswered, Data: call.AnsweredV1{Dropped: names}}
	}
	_, err := types.Encode(event(many))
	require.Error(t, err)
	for name, names := range map[string][]string{
		"many": many, "long": {strings.Repeat("x", 8<<20)}, "no UTF-8": {strings.Repeat("\xff", 400) + "a", "b"}, "few": {"a", "b"},
	} {
		kept := call.KeptDropped(names)
		_, err := types.Encode(event(kept))
		require.NoError(t, err, name)
		require.Equal(t, call.DroppedParams(names), call.DroppedParams(kept), "the header says the same: %s", name)
	}
}

func checkDropped(t *testing.T, names []string) {
	t.Helper()
	header := call.DroppedParams(names)
	require.LessOrEqual(t, len(header), 4096)
	require.Zero(t, strings.IndexFunc(header+"\x00", func(r rune) bool { return r < ' ' || r > '~' })-len(header), "printable ASCII")
	var got []string
	require.NoError(t, json.Unmarshal([]byte(header), &got))
	require.NotEmpty(t, got)
	require.LessOrEqual(t, len(got), 64)
	for _, each := range got {
		require.LessOrEqual(t, len(each), 300)
	}
}

func FuzzDroppedParams(f *testing.F) {
	f.Add("a", "é")
	f.Add(strings.Repeat("\U0001F600", 300), "\xff\\\"")
	f.Fuzz(func(t *testing.T, a, b string) { checkDropped(t, []string{a, b}) })
}
