package webhooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// receivers are all endpoints of the tests at one address, each at a path of its own.
type receivers struct {
	addr string
	mu   sync.Mutex
	at   map[string]*receiver
}

var theReceivers = sync.OnceValue(func() *receivers {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	r := &receivers{addr: l.Addr().String(), at: map[string]*receiver{}}
	srv := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go srv.Serve(l) // it ends with the process
	return r
})

func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	to := r.at[req.URL.Path]
	r.mu.Unlock()
	if to == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	to.take(w, req)
}

// message is one attempt as received.
type message struct {
	id, stamp, signature string
	body                 []byte
}

// receiver is one endpoint. Answer returns the status for the n-th attempt (from 1); nil = 204.
type receiver struct {
	url    string
	answer func(n int, w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	got  []message
	came chan message // every attempt, before it is answered
}

func receive(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	all := theReceivers()
	path := "/" + uuid.NewString()
	r := &receiver{url: "http://" + all.addr + path, answer: answer, came: make(chan message, 1000)}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.at[path] = r
	return r
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	m := message{req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp"), req.Header.Get("webhook-signature"), body}
	r.mu.Lock()
	r.got = append(r.got, m)
	n := len(r.got)
	r.mu.Unlock()
	r.came <- m
	if r.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	r.answer(n, w, req)
}

func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message{}, r.got...)
}

// next waits for the next attempt.
func (r *receiver) next(t *testing.T) message {
	t.Helper()
	select {
	case m := <-r.came:
		return m
	case <-time.After(patience):
		t.Fatal("nothing came to " + r.url)
		return message{}
	}
}

// status answers every attempt with the same status.
func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// hangs does not answer an attempt until its sender times out.
func hangs(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// signedWith reports whether a message is signed with the secret, by the Standard Webhooks convention: HMAC-SHA256 of
// id, timestamp and body.
func (m message) signedWith(t *testing.T, secret string) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(m.id + "." + m.stamp + "."))
	mac.Write(m.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Fields(m.signature) {
		if hmac.Equal([]byte(one), []byte(want)) {
			return true
		}
	}
	return false
}

// reply returns the kind and the data of a message.
func (m message) reply(t *testing.T) (kind string, data map[string]any) {
	t.Helper()
	var v struct {
		Type      string
		Timestamp time.Time
		Data      map[string]any
	}
	require.NoError(t, json.Unmarshal(m.body, &v), string(m.body))
	require.WithinDuration(t, time.Now(), v.Timestamp, 2*patience)
	seconds, err := strconv.ParseInt(m.stamp, 10, 64)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.Unix(seconds, 0), 2*patience)
	return v.Type, v.Data
}
