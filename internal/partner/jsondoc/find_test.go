package jsondoc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

const odd = "{ \"a\" : [ {\"url\":\"one\",\"n\":1.50} , {\"url\" :\t\"two\\u002fx\"}, null ],\n \"x/y\":{\"~\":\"deep\"}, " +
	"\"*\":\"star\", \"big\":12345678901234567890 }\n"

func TestStringsFindsEveryMatchOfAPattern(t *testing.T) {
	t.Parallel()
	found, err := jsondoc.Strings([]byte(odd), []string{"/a/*/url", "/x~1y/~0", "/a/0/n", "/nowhere"})
	require.NoError(t, err)
	got := map[string]string{}
	for _, f := range found {
		got[f.Pointer] = f.Value
	}
	require.Equal(t, map[string]string{"/a/0/url": "one", "/a/1/url": "two/x", "/x~1y/~0": "deep"}, got)
}

func TestReplaceKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	out, err := jsondoc.Replace([]byte(odd), map[string]string{"/a/1/url": "https://h/\"q\"?a&b", "/*": "s"})
	require.NoError(t, err)
	want := strings.Replace(odd, `"two\u002fx"`, `"https://h/\"q\"?a&b"`, 1)
	want = strings.Replace(want, `"star"`, `"s"`, 1)
	require.Equal(t, want, string(out))
}

func TestReplaceRefusesAPointerToNoString(t *testing.T) {
	t.Parallel()
	for _, pointer := range []string{"/a", "/a/0/n", "/gone", "/a/2"} {
		_, err := jsondoc.Replace([]byte(odd), map[string]string{pointer: "v"})
		require.ErrorIs(t, err, jsondoc.ErrNoString, pointer)
	}
}

func TestRawReturnsExactBytes(t *testing.T) {
	t.Parallel()
	raw := jsondoc.Raw([]byte(odd), "", "/a/0", "/a/0/n", "/big")
	require.Equal(t, strings.TrimSpace(odd), string(raw[""]))
	require.Equal(t, `{"url":"one","n":1.50}`, string(raw["/a/0"]))
	require.Equal(t, "1.50", string(raw["/a/0/n"]))
	require.Equal(t, "12345678901234567890", string(raw["/big"]))
}

func TestIsObject(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{}`: true, " {\"a\":1}\n": true, `{"a":1,"a":2}`: true,
		`[]`: false, `1`: false, ``: false, `{`: false, `{} {}`: false, `{}x`: false, `null`: false, `{"a":}`: false,
	} {
		require.Equal(t, want, jsondoc.IsObject([]byte(body)), body)
	}
}

func TestSkeletonCutsLongStringsAndKeepsNumbers(t *testing.T) {
	t.Parallel()
	got, err := jsondoc.Skeleton(strings.NewReader(`{"s":"` + strings.Repeat("x", 1<<20) + `","i":3,"f":2.5,"n":null,"l":[true]}`))
	require.NoError(t, err)
	object := got.(map[string]any)
	require.Len(t, object["s"], 4096)
	require.Equal(t, 3, object["i"])
	require.InDelta(t, 2.5, object["f"], 0)
	require.Equal(t, []any{true}, object["l"])
	for _, broken := range []string{``, `{`, `{"a":1}{"b":2}`, `<html>`, strings.Repeat("[", 1000)} {
		_, err := jsondoc.Skeleton(strings.NewReader(broken))
		require.Error(t, err, broken)
	}
}

func FuzzReplace(f *testing.F) {
	f.Add([]byte(odd), "/a/1/url")
	f.Add([]byte(`["x"]`), "/0")
	f.Fuzz(func(t *testing.T, body []byte, pointer string) {
		if len(body) > 1<<16 {
			return
		}
		out, err := jsondoc.Replace(body, map[string]string{pointer: "new"})
		if err != nil {
			return
		}
		require.Equal(t, json.Valid(body), json.Valid(out), "replacing a string does not change whether it is JSON")
		found, err := jsondoc.Strings(out, []string{pointer})
		require.NoError(t, err)
		for _, f := range found { // each occurrence of a repeated member is replaced
			if f.Pointer == pointer {
				require.Equal(t, "new", f.Value)
			}
		}
	})
}
