package comfyuitest

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
)

// inspection tests Inspector.
var inspection = map[string]func(*testing.T, *bench){
	"Identity": func(t *testing.T, b *bench) {
		id, err := b.Identify(b.ctx)
		require.NoError(t, err)
		require.GreaterOrEqual(t, id.Version.Compare(comfyui.MinVersion), 0)
		require.NotEmpty(t, id.Devices)
		require.Positive(t, id.Devices[0].MemTotal)
		require.Positive(t, id.RAMTotal)
		require.Positive(t, id.MaxUpload)
	},
	"Classes": func(t *testing.T, b *bench) {
		classes, err := b.Classes(b.ctx, "")
		require.NoError(t, err)
		require.Len(t, classes.Definitions, len(classes.Names))
		var loader struct {
			Input struct {
				Required map[string][]json.RawMessage `json:"required"`
			} `json:"input"`
		}
		require.NoError(t, json.Unmarshal(classes.Definitions["CheckpointLoaderSimple"], &loader))
		require.Contains(t, string(loader.Input.Required["ckpt_name"][0]), b.checkpoint(t))
		for _, name := range []string{"KSampler", "SaveImage", "LoadImage", "EmptyImage", "PreviewAny"} {
			require.Contains(t, classes.Names, name)
		}
	},
	"UnchangedClasses": func(t *testing.T, b *bench) {
		known, err := b.Classes(b.ctx, "")
		require.NoError(t, err)
		again, err := b.Classes(b.ctx, known.Digest)
		require.NoError(t, err)
		require.Equal(t, comfyui.Classes{Digest: known.Digest}, again)
	},
	"Models": func(t *testing.T, b *bench) {
		first, err := b.Models(b.ctx)
		require.NoError(t, err)
		require.Contains(t, first.Folders, "checkpoints")
		second, err := b.Models(b.ctx)
		require.NoError(t, err)
		require.Equal(t, first, second)
	},
	"WebFiles": func(t *testing.T, b *bench) {
		paths, err := b.Extensions(b.ctx)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		file, err := b.WebFile(b.ctx, paths[0])
		require.NoError(t, err)
		raw, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.NotEmpty(t, raw)
		require.Contains(t, file.MediaType, "javascript")
		for _, outside := range []string{
			"/extensions/../system_stats", "/extensions/a/%2e%2e/%2E%2E/history", "/queue", "/extensions/a?b",
			strings.TrimPrefix(paths[0], "/"),
		} {
			_, err := b.WebFile(b.ctx, outside)
			require.Equal(t, fault.CodeUnsafeName, fault.CodeOf(err), outside)
		}
	},
	"Queue": func(t *testing.T, b *bench) {
		first, second := prompt(t, b.long(t)), prompt(t, b.picture(1))
		for _, p := range []comfyui.Prompt{first, second} {
			_, err := b.Submit(b.ctx, p)
			require.NoError(t, err)
		}
		b.await(t, first.ID, is(comfyui.Running))
		queue, err := b.Queue(b.ctx)
		require.NoError(t, err)
		require.Len(t, queue.Running, 1)
		require.Equal(t, first.ID, queue.Running[0].ID)
		require.Equal(t, first.Client, queue.Running[0].Client)
		require.Len(t, queue.Pending, 1)
		require.Equal(t, second.ID, queue.Pending[0].ID)
		require.Greater(t, queue.Pending[0].Number, queue.Running[0].Number)
		_, err = b.Cancel(b.ctx, first.ID)
		require.NoError(t, err)
		b.await(t, second.ID, is(comfyui.Completed))
	},
}
