package driving

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The folder of another prompt contains another job's files; no prefix leads there.
func TestPrefixStaysInTheFolderOfThePrompt(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"ComfyUI":        "millrace/p/ComfyUI",
		"cats/big":       "millrace/p/cats/big",
		"/cats//big":     "millrace/p/cats/big",
		"cats/":          "millrace/p/cats/",
		"":               "millrace/p/",
		"../other/x":     "millrace/p/other/x",
		"a/../../../x":   "millrace/p/a/x",
		`..\other\x`:     "millrace/p/other/x",
		"..":             "millrace/p/",
		"...":            "millrace/p/",
		"v1..2":          "millrace/p/v1..2",
		"%date:yy-MM%/x": "millrace/p/%date:yy-MM%/x",
	} {
		c := &compiled{root: "millrace/p"}
		require.Equal(t, want, c.inRoot(given), given)
	}
}
