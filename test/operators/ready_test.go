package operators_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/test/served"
)

// atReady asks whether the service is ready in the moment in which the service says so.
type atReady struct {
	mu    sync.Mutex // guards what follows
	text  string
	ready string // the answer
}

var apiAddress = regexp.MustCompile(`API +(http://\S+)`)

// Write implements io.Writer.
func (a *atReady) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text += string(p)
	if base := apiAddress.FindSubmatch(p); base != nil {
		res, err := http.Get(string(base[1]) + "/readyz")
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		a.ready = string(raw)
		return len(p), err
	}
	return len(p), nil
}

// Local mode says that it is ready when a job would run at once, and its log does not drown what it says. The doctor then
// finds nothing.
func TestReadyMeansThatWorkersRun(t *testing.T) {
	out, log := &atReady{}, &served.Log{}
	s := served.Start(t, served.Options{Name: "mr-ready", Out: out, Log: log, Patience: 2 * patience})
	require.Eventually(t, func() bool {
		out.mu.Lock()
		defer out.mu.Unlock()
		return out.ready != ""
	}, patience, 20*time.Millisecond)
	require.NotContains(t, out.ready, `"ok":false`)
	require.True(t, strings.HasPrefix(out.text, "\nMillrace is ready.\n\n  Console "), out.text)
	require.NotContains(t, log.String(), "level=INFO")
	require.EventuallyWithT(t, func(c *assert.CollectT) { // each of its checks has seconds, which may not be enough on a busy machine
		examined, err := s.Command(t.Context(), "doctor")
		assert.NoError(c, err, examined)
	}, patience, time.Second)
}
