package driving

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestFileBeginsAsItsNameSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		refused       bool
	}{
		{"a.png", "\x89PNG\r\n\x1a\nrest", false},
		{"A.PNG", "\x89PNG\r\n\x1a\nrest", false},
		{"a.png", "<html>sign in</html>", true},
		{"a.png", "", true},
		{"a.mp4", "\x00\x00\x00\x20ftypisom", false},
		{"a.mp4", "{\"error\":1}", true},
		{"a.mp4", "\x00", true},
		{"a.txt", "<html>", false},
		{"a", "", false},
	} {
		err := checkBeginning(bufio.NewReader(strings.NewReader(c.content)), comfyui.File{Name: c.name})
		require.Equal(t, c.refused, fault.CodeOf(err) == comfyui.CodeGarbage, "%s: %q", c.name, c.content)
	}
}
