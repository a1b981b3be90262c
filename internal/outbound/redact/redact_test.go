package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/outbound/redact"
)

// The backslash before a letter reads as an escape in JSON.
const secret = `s3cr3t/of+the\new "operator"&co`

// written lists ways in which a third party may repeat the secret.
func written(t *testing.T) map[string]string {
	t.Helper()
	quoted, err := json.Marshal(map[string]string{"key": secret})
	require.NoError(t, err)
	all := map[string]string{
		"as it is": "Authorization: Bearer " + secret + "\n", "twice": secret + secret, "in JSON": string(quoted),
		"in JSON with escaped slashes": strings.ReplaceAll(string(quoted), "/", `\/`),
		"in a query":                   "https://a.example/?key=" + url.QueryEscape(secret) + "&x=1",
		"in a path":                    "https://a.example/" + url.PathEscape(secret) + "/x",
		"in a query, in lower case":    "?key=" + strings.NewReplacer("%2F", "%2f", "%2B", "%2b").Replace(url.QueryEscape(secret)),
	}
	all["as UTF-16 code units"] = `{"key":"` + units(secret, "%04x") + `"}`
	all["as UTF-16 code units in upper case, in part"] = `{"key":"` + units(secret[:5], "%04X") + secret[5:9] +
		units(secret[9:], "%04X") + `"}`
	nested, err := json.Marshal(`{"key":"` + units(secret, "%04x") + `"}`)
	require.NoError(t, err)
	all["in JSON that is a string in JSON"] = string(nested)
	var percents strings.Builder
	for _, b := range []byte(secret) {
		fmt.Fprintf(&percents, "%%%02x", b)
	}
	all["with each byte as a percent escape"] = percents.String()
	all["as base64 with escaped slashes"] = strings.NewReplacer("/", `\/`, "c", `\u0063`).Replace(
		base64.StdEncoding.EncodeToString([]byte("??>" + secret + "??>")))
	for _, before := range []string{"", "a", "ab", "Bearer "} {
		all["as base64 behind "+before] = base64.StdEncoding.EncodeToString([]byte(before + secret + " and more"))
		all["as base64 for addresses behind "+before] = base64.URLEncoding.EncodeToString([]byte(before + secret))
	}
	return all
}

// units writes a text as escapes of a JSON string.
func units(text, digits string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u`+digits, unit)
	}
	return b.String()
}

// holds reports whether a text contains more of the secret than its edges, in any encoding.
func holds(text string) bool {
	core := secret[2 : len(secret)-2]
	for range 2 { // as a client reads it
		if plain := ""; json.Unmarshal([]byte(`"`+text+`"`), &plain) == nil || json.Unmarshal([]byte(text), &plain) == nil {
			text = plain
		}
		var document map[string]string
		if json.Unmarshal([]byte(text), &document) == nil {
			text = document["key"]
		}
	}
	if plain, err := url.QueryUnescape(text); err == nil && strings.Contains(plain, core) {
		return true
	}
	if strings.Contains(text, core) || strings.Contains(text, "s3cr3t") {
		return true
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if raw, err := encoding.DecodeString(text); err == nil && bytes.Contains(raw, []byte(core)) {
			return true
		}
	}
	return false
}

func TestASecretIsOverwrittenInEveryForm(t *testing.T) {
	t.Parallel()
	s := redact.New(secret)
	for name, text := range written(t) {
		require.True(t, holds(text), name)
		clean := s.String(text)
		require.False(t, holds(clean), "%s: %s", name, clean)
		require.Len(t, clean, len(text), name)
		require.True(t, s.Found(text), name)
		require.False(t, s.Found(clean), name)
	}
}

// The base64 around a secret stays readable.
func TestBase64StaysBase64(t *testing.T) {
	t.Parallel()
	clean := redact.New(secret).String(base64.StdEncoding.EncodeToString([]byte("Bearer " + secret + " and more")))
	raw, err := base64.StdEncoding.DecodeString(clean)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(raw), "Bearer "), "%q", raw)
	require.True(t, strings.HasSuffix(string(raw), " and more"), "%q", raw)
}

func TestAReaderOverwritesASecretThatArrivesInPieces(t *testing.T) {
	t.Parallel()
	s := redact.New(secret)
	for name, text := range written(t) {
		want := s.String(text)
		for at := range text {
			pieces := io.MultiReader(strings.NewReader(text[:at]), strings.NewReader(text[at:]))
			got, err := io.ReadAll(s.Reader(pieces))
			require.NoError(t, err)
			require.Equal(t, want, string(got), "%s, cut at %d", name, at)
		}
		got, err := io.ReadAll(s.Reader(iotest.OneByteReader(strings.NewReader(text))))
		require.NoError(t, err)
		require.Equal(t, want, string(got), name)
	}
}

// A long answer has secrets on the boundaries between reads.
func TestALongAnswerLosesOnlyItsSecrets(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(strings.Repeat("x", 1021)+secret, 300)
	got, err := io.ReadAll(iotest.HalfReader(redact.New(secret).Reader(strings.NewReader(text))))
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(text, secret, strings.Repeat("*", len(secret))), string(got))
}

func TestSecretsThatOverlapAreBothOverwritten(t *testing.T) {
	t.Parallel()
	s := redact.New("abcdefgh-1234", "1234-ijklmnop")
	const text = "<abcdefgh-1234-ijklmnop>"
	got, err := io.ReadAll(s.Reader(iotest.OneByteReader(strings.NewReader(text))))
	require.NoError(t, err)
	require.Equal(t, "<"+strings.Repeat("*", len(text)-2)+">", string(got))
}

// Bytes that have arrived are passed on, so that a streamed answer is not delayed.
func TestAReaderDoesNotWaitForMoreThanASecret(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	r := redact.New(secret).Reader(from)
	go io.WriteString(to, "data: one\n\ns3") // read below
	got := make([]byte, 64)
	n, err := r.Read(got)
	require.NoError(t, err)
	require.Equal(t, "data: one\n\n", string(got[:n]))
	go func() {
		io.WriteString(to, "t of beans\n") // read below
		to.Close()
	}()
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "s3t of beans\n", string(rest))
}

func TestAnAnswerThatEndsWithinASecretShowsNoneOfIt(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	r := redact.New(secret).Reader(io.MultiReader(strings.NewReader("key "+secret[:20]), iotest.ErrReader(broken)))
	got, err := io.ReadAll(r)
	require.ErrorIs(t, err, broken)
	require.Equal(t, "key "+strings.Repeat("*", 20), string(got))
}

// The end of an answer is not that of a secret because its few characters are long escapes.
func TestAnAnswerThatEndsInEscapesIsUnchanged(t *testing.T) {
	t.Parallel()
	for _, end := range []string{strings.Repeat(`\`, 8), "%73%33%63", `\u0073\u0033`} {
		read, err := io.ReadAll(redact.New(secret).Reader(strings.NewReader("an answer " + end)))
		require.NoError(t, err)
		require.Equal(t, "an answer "+end, string(read))
	}
}

func TestOtherBytesAreUnchanged(t *testing.T) {
	t.Parallel()
	all := make([]byte, 0, 1<<17)
	for i := range cap(all) {
		all = append(all, byte(i), byte(i>>8))
	}
	for _, s := range []*redact.Secrets{nil, {}, redact.New("short"), redact.New(secret)} {
		got, err := io.ReadAll(s.Reader(bytes.NewReader(all)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(all, got))
		require.Equal(t, "a short text", s.String("a short text"))
	}
}

func BenchmarkReader(b *testing.B) {
	raw := bytes.Repeat([]byte("iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAA10dzkAAAgAElEQVR4nOy9"), 1<<16)
	s := redact.New("sk-proj-0123456789abcdefghijklmnopqrstuvwxyz")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, s.Reader(bytes.NewReader(raw))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReaderOfBinary(b *testing.B) {
	raw := make([]byte, 4<<20)
	for i, state := 0, uint32(1); i < len(raw); i++ {
		state = state*1664525 + 1013904223
		raw[i] = byte(state >> 24)
	}
	s := redact.New("sk-proj-0123456789abcdefghijklmnopqrstuvwxyz")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := io.Copy(io.Discard, s.Reader(bytes.NewReader(raw))); err != nil {
			b.Fatal(err)
		}
	}
}
