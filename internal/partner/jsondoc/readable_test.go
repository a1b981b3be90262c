package jsondoc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// Skeleton must be able to read every document that Readable accepts: a body that cannot be read has no price.
func FuzzReadableDocumentsAreRead(f *testing.F) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, seed := range []string{
		`{}`, `{"a":"]\"["}`, nested(jsondoc.MaxDepth), nested(jsondoc.MaxDepth + 1), `{"a":` + nested(jsondoc.MaxDepth) + `}`,
		`{"a":"` + nested(500) + `\\","b":"\\\""}`, `[1e999,"\ud800"]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !jsondoc.Readable([]byte(text)) {
			return
		}
		_, err := jsondoc.Skeleton(strings.NewReader(text))
		require.NoError(t, err)
	})
}

func TestADocumentNestedTooDeepIsNotReadable(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, jsondoc.MaxDepth+1) + "1" + strings.Repeat("}", jsondoc.MaxDepth+1)
	require.False(t, jsondoc.Readable([]byte(deep)))
	require.True(t, jsondoc.Readable([]byte(`{"a":"`+strings.Repeat("[", 1000)+`"}`)), "brackets within a string do not count")
}
