package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

func TestKindOfAModel(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load(catalog.Options{})
	require.NoError(t, err)
	for id, kind := range map[string]catalog.Kind{
		"bfl/flux-2-pro": catalog.KindImage, "stability/stable-image-core": catalog.KindImage, "minimax/hailuo-02": catalog.KindVideo,
		"ltx/ltx-2-text-to-video": catalog.KindVideo, "elevenlabs/sound-generation": catalog.KindAudio, "anthropic/messages": catalog.KindText,
		"recraft/vectorize": catalog.KindFile,
	} {
		m, found := c.Snapshot().Find(id)
		require.True(t, found, id)
		require.Equal(t, kind, m.Kind(), id)
	}
}
