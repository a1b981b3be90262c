package modelcall

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Answers that wait for space fill their budget to the last byte and no further; no call begins once they fill half of it.
func TestAnswersWaitWithinABudget(t *testing.T) {
	t.Parallel()
	m := newMemory(10)
	require.True(t, m.take(5))
	require.False(t, m.short())
	require.True(t, m.take(1))
	require.True(t, m.short())
	require.False(t, m.take(5))
	require.True(t, m.take(4))
	require.False(t, m.take(1))
	require.True(t, newMemory(0).take(1<<20), "there is a budget without a setting")
}

func TestJSONIsRecognised(t *testing.T) {
	t.Parallel()
	for kind, is := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true, "application/problem+json": true, "image/png": false, "": false,
		"text/json-like": false,
	} {
		require.Equal(t, is, isJSON(kind), kind)
	}
}

// An exchange whose outcome is recorded takes no memory, except as one of the recent ones.
func TestAnExchangeIsNotKeptAfterItsEnd(t *testing.T) {
	t.Parallel()
	e := newExchanges()
	x, mine := e.claim("a")
	require.True(t, mine)
	e.close(x)
	_, open := e.find("a")
	require.False(t, open)
}
