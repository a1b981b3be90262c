package sim

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// Faults that a caller can ask for, "[sim:name]" or "[sim:name=value]" anywhere in the body. A
// fault whose name begins with "late-" happens to the status answers of a submitted generation; with
// "@bfl" behind it, only below that path of the simulator: one server of several is in trouble.
const (
	faultPolicy     = "policy"     // the provider refuses on content-policy grounds
	faultInvalid    = "invalid"    // the provider refuses the input
	faultValidation = "validation" // the same in the FastAPI shape, where the provider has it
	faultError      = "error"      // the provider fails with a 500
	faultBusy       = "busy"       // 429
	faultDown       = "down"       // 503
	faultUnpaid     = "unpaid"     // 402
	faultLost       = "lost"       // a submitted generation is done, and its file is gone
	faultFail       = "fail"       // a submitted generation ends without a result
	faultDrop       = "drop"       // the connection ends without an answer
	faultLose       = "lose"       // the same, until the request is repeated with its idempotency key
	faultBroken     = "broken"     // a good status, and JSON that ends in the middle
	faultHTML       = "html"       // a good status, and a page
	faultTruncate   = "truncate"   // fewer bytes than declared, until the request is repeated with its idempotency key
	faultEndless    = "endless"    // an answer that does not end
	faultHang       = "hang"       // no answer until the caller gives up
	faultEmpty      = "empty"      // a good status and nothing
)

// scenario is the behaviour that a request asks of the simulator.
type scenario struct {
	Fault string
	Late  string        // fault of the first status answers
	Delay time.Duration // of the answer, or of the generation where there is one
	Size  int           // bytes of a byte answer
	set   bool          // Delay was asked for
}

var mark = regexp.MustCompile(`\[sim:([a-z-]+)(?:=([0-9a-zA-Z.]+))?(?:@([a-z]+))?\]`)

const (
	maxDelay = 10 * time.Minute
	maxSize  = 1 << 30
)

// parseScenario reads the scenario for the server at a path from raw.
func parseScenario(raw []byte, path string) scenario {
	var s scenario
	for _, m := range mark.FindAllSubmatch(raw, 8) {
		name, value, only := string(m[1]), string(m[2]), string(m[3])
		switch {
		case only != "" && !strings.HasPrefix(path, "/"+only+"/"):
		case name == "delay":
			if d, err := time.ParseDuration(value); err == nil {
				s.Delay, s.set = min(max(d, 0), maxDelay), true
			}
		case name == "size":
			if n, err := strconv.Atoi(value); err == nil {
				s.Size = min(max(n, 0), maxSize)
			}
		case strings.HasPrefix(name, "late-"):
			s.Late = strings.TrimPrefix(name, "late-")
		default:
			s.Fault = name
		}
	}
	return s
}

// wait delays an answer as requested; it returns false if the caller has disconnected.
func (s scenario) wait(ctx context.Context) bool {
	d := s.Delay
	if d == 0 && s.Fault != faultHang {
		return true
	}
	if s.Fault == faultHang {
		d = maxDelay
	}
	return pause.For(ctx, d) == nil
}

// send writes a reply, or the scenario's variant of it.
func (s scenario) send(w http.ResponseWriter, r *http.Request, rep reply) {
	body, contentType := rep.bytes, rep.contentType
	if body == nil && rep.json != nil {
		encoded, err := json.Marshal(rep.json)
		if err != nil {
			http.Error(w, "the simulator cannot encode its answer", http.StatusInternalServerError)
			return
		}
		body, contentType = encoded, "application/json"
	}
	for name, value := range rep.headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", contentType)
	if rep.status >= 300 { // faults spoil good answers
		write(w, rep.status, body)
		return
	}
	switch s.Fault {
	case faultDrop, faultLose:
		panic(http.ErrAbortHandler)
	case faultBroken:
		write(w, rep.status, body[:len(body)/2])
	case faultHTML:
		w.Header().Set("Content-Type", "text/html")
		write(w, rep.status, []byte("<html><body>Bad gateway</body></html>"))
	case faultTruncate:
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1000))
		write(w, rep.status, body)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	case faultEndless:
		endless(w, r)
	case faultEmpty:
		w.WriteHeader(rep.status)
	default:
		write(w, rep.status, body)
	}
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.WriteHeader(status)
	w.Write(body)
}

// endless writes until the caller has enough.
func endless(w http.ResponseWriter, r *http.Request) {
	chunk := []byte(strings.Repeat(" ", 32<<10))
	w.Write([]byte(`{"endless":"`))
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}
