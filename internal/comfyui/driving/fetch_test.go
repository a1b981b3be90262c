package driving

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestFileWithAWrongSignatureIsRefused(t *testing.T) {
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
		require.Equal(t, c.refused, fault.CodeOf(err) == fault.CodeServerGarbage, "%s: %q", c.name, c.content)
	}
}

// answering is a server that returns the same bytes for every file.
type answering struct {
	comfyui.Server
	body  string
	limit int64 // the limit of the last request
}

// Fetch implements comfyui.Server.
func (a *answering) Fetch(_ context.Context, _ comfyui.File, limit int64) (*comfyui.Download, error) {
	a.limit = limit
	return &comfyui.Download{ReadCloser: io.NopCloser(strings.NewReader(a.body))}, nil
}

// Values from a server pass the same check as files that are kept, and at most the bytes of one value are read.
func TestValuesAreCheckedAndBounded(t *testing.T) {
	t.Parallel()
	d := New(Options{MaxPixels: 10, MaxOutput: 1 << 30})
	s := &answering{body: "<html>sign in</html>"}
	_, err := d.frames(t.Context(), &Run{Server: s}, raster.Engine{MaxPixels: 10}, []comfyui.File{{Name: "a.png"}})
	require.Equal(t, fault.CodeServerGarbage, fault.CodeOf(err))
	_, err = d.read(t.Context(), &Run{Server: s}, comfyui.File{Name: "a.latent"})
	require.Equal(t, fault.CodeServerGarbage, fault.CodeOf(err))
	require.Equal(t, d.maxValueBytes(), s.limit)
	require.Less(t, s.limit, d.opts.MaxOutput)
}
