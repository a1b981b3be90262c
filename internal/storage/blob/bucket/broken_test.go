package bucket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/bucket"
)

// lossy is a service with one object. As long as it has breaks left, its answers end after some bytes.
type lossy struct {
	path    string
	object  []byte
	breaks  atomic.Int64
	behind  int
	goesOn  bool         // answers that begin in the middle also return some bytes
	changed atomic.Int64 // requests that would change something
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		l.changed.Add(1)
		w.WriteHeader(http.StatusOK)
	case r.URL.Path != l.path: // the bucket
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodGet && l.breaks.Add(-1) >= 0:
		var from int
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from) // absent: from the start
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", fmt.Sprint(len(l.object)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		if from == 0 || l.goesOn {
			_, _ = w.Write(l.object[from:min(from+l.behind, len(l.object))])
		}
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("ETag", `"e"`)
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(l.object))
	}
}

func openLossy(t *testing.T, breaks int64, behind int, goesOn bool) (*bucket.Store, *lossy, blob.Ref) {
	t.Helper()
	object := bytes.Repeat([]byte("millrace"), 100_000)
	ref := blob.Sum(object)
	l := &lossy{path: "/bucket/" + key(ref), object: object, behind: behind, goesOn: goesOn}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	s, err := bucket.Open(t.Context(), bucket.Options{
		Endpoint: strings.TrimPrefix(server.URL, "http://"), Region: "us-east-1", Bucket: "bucket", Prefix: "millrace/", AccessKey: "a",
		SecretKey: "s", Insecure: true, Spool: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	l.breaks.Store(breaks)
	return s, l, ref
}

// each way to read a blob whole.
var reads = map[string]func(context.Context, *bucket.Store, blob.Ref) ([]byte, error){
	"in sequence": func(ctx context.Context, s *bucket.Store, ref blob.Ref) ([]byte, error) {
		r, err := s.Open(ctx, ref)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	},
	"checked first": func(ctx context.Context, s *bucket.Store, ref blob.Ref) ([]byte, error) {
		r, err := s.Open(ctx, ref)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if err := r.(*blob.VerifyingReader).Check(); err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	},
}

// A connection that breaks in the middle of an object does not mean damage: the read continues.
func TestInterruptedReadResumesAtItsOffset(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		for _, behind := range []int{0, 1, 300_000} {
			t.Run(fmt.Sprintf("%s, behind %d", name, behind), func(t *testing.T) {
				t.Parallel()
				s, l, ref := openLossy(t, 2, behind, true)
				got, err := read(t.Context(), s, ref)
				require.NoError(t, err)
				require.True(t, bytes.Equal(l.object, got))
				require.Zero(t, l.changed.Load())
			})
		}
	}
}

// A connection that breaks again and again means that the service is away, not that the object is damaged, which would take
// the object out of service for good.
func TestBrokenReadIsNotReportedAsDamage(t *testing.T) {
	t.Parallel()
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l, ref := openLossy(t, 1<<40, 300_000, false)
			_, err := read(t.Context(), s, ref)
			require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
			require.NotErrorIs(t, err, blob.ErrCorrupt)
			require.Zero(t, l.changed.Load(), "nothing was moved aside")
			l.breaks.Store(0)
			got, err := read(t.Context(), s, ref)
			require.NoError(t, err)
			require.True(t, bytes.Equal(l.object, got))
		})
	}
}
