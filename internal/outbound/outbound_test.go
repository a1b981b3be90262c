package outbound_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
)

func TestPublicRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"192.0.2.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001:db8::1", "fec0::1", "2001:0:1::", "::127.0.0.1",
		"fe80::1%eth0",
	} {
		require.False(t, outbound.Public(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"} {
		require.True(t, outbound.Public(netip.MustParseAddr(a)), a)
	}
}

func TestPrivateAddressIsRefusedAndNeverReached(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(server.Close)
	c := outbound.New(outbound.Options{})
	t.Cleanup(c.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, address := range []string{
		server.URL, "https://localhost" + port, "https://[::1]" + port, "https://[::ffff:127.0.0.1]" + port, "https://0.0.0.0" + port,
		"https://2130706433" + port, "http://example.com/", "ftp://example.com/", "https://user:pw@example.com/", "file:///etc/passwd",
		"https:///x", "::",
	} {
		_, err := c.Fetch(t.Context(), address, outbound.Bounds{}, nil)
		require.Error(t, err, address)
		require.Contains(t, []fault.Kind{fault.Denied, fault.Unavailable}, fault.KindOf(err), address)
	}
	require.Zero(t, reached.Load())
}

// resolver answers every name with the given addresses in turn, like a name whose address changes.
func resolver(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() }) // closes at the end of the test
	var asked atomic.Int32
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply := answer(buffer[:n], answers, &asked); reply != nil {
				conn.WriteTo(reply, from) // the client asks again
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answer(query []byte, answers []string, asked *atomic.Int32) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response = true
	m.Additionals = nil
	q := m.Questions[0]
	if q.Type == dnsmessage.TypeA {
		i := min(int(asked.Add(1))-1, len(answers)-1)
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0},
			Body:   &dnsmessage.AResource{A: netip.MustParseAddr(answers[i]).As4()},
		}}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func TestPrivateAddressIsRefusedAtEveryResolution(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	// The first address is public (but answers nobody), the second internal.
	c := outbound.New(outbound.Options{Resolver: resolver(t, "240.0.0.1", "127.0.0.1"), DialTimeout: 2 * time.Second})
	t.Cleanup(c.Close)
	for range 3 {
		_, err := c.Fetch(t.Context(), "https://rebinding.example"+port+"/", outbound.Bounds{Total: time.Minute}, nil)
		require.ErrorIs(t, err, outbound.ErrRefused)
	}
	require.Zero(t, reached.Load())
}

// allowed returns a server, a client and the option that allows the server's address.
func allowed(t *testing.T, h http.HandlerFunc) (string, *outbound.Client, []string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c := outbound.New(outbound.Options{})
	t.Cleanup(c.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	return server.URL, c, []string{u.Host}
}

func TestAllowedAddressIsOneHostAndPort(t *testing.T) {
	t.Parallel()
	base, c, allow := allowed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Write([]byte("picture"))
	})
	content, err := c.Fetch(t.Context(), base+"/x", outbound.Bounds{}, allow)
	require.NoError(t, err)
	got, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	require.Equal(t, "picture", string(got))
	require.Equal(t, "image/png", content.ContentType)
	_, err = c.Fetch(t.Context(), strings.Replace(base, "127.0.0.1", "localhost", 1), outbound.Bounds{}, allow)
	require.ErrorIs(t, err, outbound.ErrRefused)
}

func TestARedirectIsCheckedLikeTheFirstAddress(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	base, c, allow := allowed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
			return
		}
		http.Redirect(w, r, inside.URL, http.StatusFound)
	})
	_, err := c.Fetch(t.Context(), base+"/in", outbound.Bounds{}, allow)
	require.ErrorIs(t, err, outbound.ErrRefused)
	require.Zero(t, reached.Load())
	_, err = c.Fetch(t.Context(), base+"/loop", outbound.Bounds{}, allow)
	require.ErrorContains(t, err, "redirects")
	require.NotContains(t, err.Error(), base)
}

func TestBoundsEndAFetch(t *testing.T) {
	t.Parallel()
	base, c, allow := allowed(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/declared":
			w.Header().Set("Content-Length", "5000000")
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
					return
				}
			}
		case "/short":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/still":
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	})
	for path, want := range map[string]error{
		"/declared": outbound.ErrTooLarge, "/endless": outbound.ErrTooLarge,
		"/short": outbound.ErrTruncated, "/still": outbound.ErrStalled, "/gone": nil,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			bounds := outbound.Bounds{Bytes: 1 << 20, Stall: time.Minute}
			if path == "/still" {
				bounds.Stall = 2 * time.Second
			}
			content, err := c.Fetch(t.Context(), base+path, bounds, allow)
			if err == nil {
				_, err = io.Copy(io.Discard, content)
				require.NoError(t, content.Close())
			}
			require.Error(t, err)
			if want != nil {
				require.True(t, errors.Is(err, want), "%v", err)
			}
		})
	}
}
