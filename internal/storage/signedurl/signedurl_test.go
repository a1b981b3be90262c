package signedurl_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

const id = "0b4f8c52-5a34-4f0f-9a7a-3a1c7f2f7d10"

var (
	hash = blob.Sum([]byte("x"))
	old  = signedurl.Key{ID: "1", Secret: bytes.Repeat([]byte{1}, 32)}
	next = signedurl.Key{ID: "2", Secret: bytes.Repeat([]byte{2}, 32)}
)

func signer(t testing.TB, now *time.Time, keys ...signedurl.Key) *signedurl.Signer {
	t.Helper()
	s, err := signedurl.New(keys, signedurl.Options{Now: func() time.Time { return *now }})
	require.NoError(t, err)
	return s
}

func verify(s *signedurl.Signer, link string) (signedurl.Grant, error) {
	u, err := url.Parse(link)
	if err != nil {
		return signedurl.Grant{}, err
	}
	asset, file, _ := strings.Cut(strings.TrimPrefix(u.Path, signedurl.Prefix), "/")
	return s.Verify(asset, file, u.Query())
}

func TestALinkAllowsWhatWasSignedUntilItEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := signer(t, &now, old)
	link, expires := s.Sign(id, hash.String(), "a b/ü?.png", "image/png")
	require.GreaterOrEqual(t, expires.Sub(now), 15*time.Minute)
	require.Zero(t, expires.Unix()%300, "deadlines are rounded to a window")
	g, err := verify(s, link)
	require.NoError(t, err)
	require.Equal(t, signedurl.Grant{Asset: id, Filename: "a b/ü?.png", Hash: hash, ContentType: "image/png", Expires: expires}, g)

	now = now.Add(10 * time.Second)
	again, _ := s.Sign(id, hash.String(), "a b/ü?.png", "image/png")
	require.Equal(t, link, again, "the same link within a window")

	now = expires
	_, err = verify(s, link)
	require.Equal(t, fault.Denied, fault.KindOf(err))
}

func TestATamperedLinkIsDenied(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := signer(t, &now, old)
	link, _ := s.Sign(id, hash.String(), "a.png", "image/png")
	other, _ := s.Sign(strings.Replace(id, "0b", "0c", 1), hash.String(), "a.png", "image/png")
	u, err := url.Parse(link)
	require.NoError(t, err)
	for name, change := range map[string]func(url.Values) string{
		"another asset":   func(url.Values) string { return strings.Replace(id, "0b", "0c", 1) },
		"a later end":     func(q url.Values) string { q.Set("e", "99999999999"); return id },
		"another type":    func(q url.Values) string { q.Set("t", "text/html"); return id },
		"another hash":    func(q url.Values) string { q.Set("h", strings.Repeat("A", 43)); return id },
		"another key":     func(q url.Values) string { q.Set("k", "2"); return id },
		"no signature":    func(q url.Values) string { q.Del("sig"); return id },
		"half of it":      func(q url.Values) string { q.Set("sig", q.Get("sig")[:20]); return id },
		"not base64":      func(q url.Values) string { q.Set("sig", "!!!"); return id },
		"no end":          func(q url.Values) string { q.Del("e"); return id },
		"nothing at all":  func(q url.Values) string { clear(q); return id },
		"another's proof": func(q url.Values) string { o, _ := url.Parse(other); q.Set("sig", o.Query().Get("sig")); return id },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := u.Query()
			asset := change(q)
			_, err := s.Verify(asset, "a.png", q)
			require.Equal(t, fault.Denied, fault.KindOf(err))
		})
	}
	_, err = s.Verify(id, "b.png", u.Query())
	require.Equal(t, fault.Denied, fault.KindOf(err), "it works for the named file only")
}

func TestKeysCanBeRotated(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, during, after := signer(t, &now, old), signer(t, &now, next, old), signer(t, &now, next)
	link, _ := before.Sign(id, hash.String(), "a.png", "image/png")
	_, err := verify(during, link)
	require.NoError(t, err, "links of the old key keep working")
	fresh, _ := during.Sign(id, hash.String(), "a.png", "image/png")
	require.NotEqual(t, link, fresh)
	_, err = verify(after, fresh)
	require.NoError(t, err)
	_, err = verify(after, link)
	require.Equal(t, fault.Denied, fault.KindOf(err), "links of a removed key are denied")
}

func TestUnusableKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]signedurl.Key{nil, {{ID: "1", Secret: []byte("short")}}, {{Secret: old.Secret}}, {old, old}} {
		_, err := signedurl.New(keys, signedurl.Options{})
		require.Error(t, err)
	}
}

func FuzzVerify(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := signedurl.New([]signedurl.Key{old}, signedurl.Options{Now: func() time.Time { return now }})
	if err != nil {
		f.Fatal(err)
	}
	link, _ := s.Sign(id, hash.String(), "a.png", "image/png")
	_, query, _ := strings.Cut(link, "?")
	f.Add(id, "a.png", query+"x")
	f.Fuzz(func(t *testing.T, asset, file, raw string) {
		q, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		g, err := s.Verify(asset, file, q)
		if err != nil {
			require.Equal(t, fault.Denied, fault.KindOf(err))
			return
		}
		require.Equal(t, signedurl.Grant{Asset: id, Filename: "a.png", Hash: hash, ContentType: "image/png", Expires: g.Expires}, g)
	})
}
