package blob_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// The digest of no bytes, from the BLAKE3 paper's test vectors.
const emptyDigest = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"

func TestParseRef(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in string
		ok bool
	}{
		"lower case":         {"blake3:" + emptyDigest, true},
		"upper case digits":  {"blake3:" + strings.ToUpper(emptyDigest), true},
		"no prefix":          {emptyDigest, false},
		"upper case prefix":  {"BLAKE3:" + emptyDigest, false},
		"another function":   {"sha256:" + emptyDigest, false},
		"one digit short":    {"blake3:" + emptyDigest[1:], false},
		"one digit too many": {"blake3:" + emptyDigest + "0", false},
		"not hex":            {"blake3:" + strings.Repeat("g", 64), false},
		"empty":              {"", false},
		"prefix only":        {"blake3:", false},
		"space at the end":   {"blake3:" + emptyDigest[:63] + " ", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref, err := blob.ParseRef(c.in)
			if !c.ok {
				require.Equal(t, fault.Invalid, fault.KindOf(err))
				require.True(t, ref.IsZero())
				return
			}
			require.NoError(t, err)
			require.Equal(t, blob.Sum(nil), ref)
			require.Equal(t, "blake3:"+emptyDigest, ref.String())
		})
	}
}

func TestRefInJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		Ref   blob.Ref `json:"ref"`
		Other blob.Ref `json:"other"`
	}
	in := row{Ref: blob.Sum([]byte("x"))}
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	require.JSONEq(t, `{"ref":"`+in.Ref.String()+`","other":""}`, string(raw))
	var out row
	require.NoError(t, json.Unmarshal(raw, &out))
	require.Equal(t, in, out)
	require.Error(t, json.Unmarshal([]byte(`{"ref":"blake3:12"}`), &out))
}

func FuzzParseRef(f *testing.F) {
	f.Add("blake3:" + emptyDigest)
	f.Add("blake3:" + strings.Repeat("g", 64))
	f.Add("blake3%3A" + emptyDigest)
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := blob.ParseRef(s)
		if err != nil {
			require.True(t, ref.IsZero())
			return
		}
		require.Equal(t, strings.ToLower(s), ref.String())
		again, err := blob.ParseRef(ref.String())
		require.NoError(t, err)
		require.Equal(t, ref, again)
	})
}
