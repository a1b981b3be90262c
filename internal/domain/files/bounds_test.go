package files_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The bounds of names are exact, and the error names the bound.
func TestTheBoundsOfNamesAreExact(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	most := strings.Repeat(long+"/", 3) + long[:127] + "/" + long[:128]
	for path, says := range map[string]string{
		long: "", long + "x": "a component is too long", "a/" + long: "", "": "it is empty",
		most: "", most + "x": "it is too long",
		"a\x1fb": "it contains characters that are not allowed", "a\x7fb": "it contains characters that are not allowed", "a b~": "",
		"\xff": "it contains characters that are not allowed", `a\b`: "it contains a backslash", "c:x": "it has a drive letter",
		"/a": "it is absolute or has an empty component", "a//b": "it is absolute or has an empty component", ".": "it leads out of its folder",
		"a/..": "it leads out of its folder", "a/...": "", "..a": "",
	} {
		err := files.CheckPath(path)
		if says == "" {
			require.NoError(t, err, "%.20q", path)
			continue
		}
		require.EqualError(t, err, "the file path is not usable: "+says, "%.20q", path)
		require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
	}
	for _, n := range []int{9, 10, 99} {
		suffix := fmt.Sprintf(" (%d).png", n)
		require.Equal(t, strings.Repeat("x", 255-len(suffix))+suffix, files.Numbered(strings.Repeat("x", 251)+".png", n))
		fits := strings.Repeat("x", 255-len(suffix))
		require.Equal(t, fits+suffix, files.Numbered(fits+".png", n))
	}
	prefixes, numbers := files.Counters("a_123456789_.png")
	require.Equal(t, []any{[]string{"a"}, []int64{123456789}}, []any{prefixes, numbers})
	prefixes, numbers = files.Counters("a_9x_0_")
	require.Equal(t, []any{[]string{"a", "a_9x"}, []int64{9, 0}}, []any{prefixes, numbers})
}

// A weight has one folder and a name whose parts do not begin with a dot.
func TestAWeightHasAFolderAndAName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ folder, name, says string }{
		{"vae", "a.safetensors", ""},
		{"text_encoders-2.0", "sub/a", ""},
		{strings.Repeat("x", 64), "a", ""},
		{strings.Repeat("x", 65), "a", "the folder of a weight"},
		{"", "a", "the folder of a weight"},
		{".x", "a", "the folder of a weight"},
		{"a/b", "a", "the folder of a weight"},
		{"vae", ".a", "a component begins with a dot"},
		{"vae", "a/.b", "a component begins with a dot"},
		{"vae", "", "it is empty"},
		{"vae", "a//b", "an empty component"},
	} {
		p, err := files.WeightPlace(c.folder, c.name)
		if c.says != "" {
			require.ErrorContains(t, err, c.says, c)
			require.Zero(t, p)
			continue
		}
		require.NoError(t, err, c)
		category, name, ok := p.ModelPath()
		require.Equal(t, []any{c.folder, c.name, true, "input"}, []any{category, name, ok, p.Folder})
	}
	for _, folder := range []node.Folder{node.FolderModels, "x", ""} {
		_, err := files.NewPlace(folder, "a")
		require.EqualError(t, err, "the folder must be input, output or temp")
	}
}
