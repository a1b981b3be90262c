package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients of a self-hosted ComfyUI follow no redirect; those of the cloud contract expect one.
func TestViewWithoutThePrefixAnswersWithTheBytes(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	picture := tinyPNG(t)
	require.Equal(t, 200, c.upload("viewed.png", picture).status)
	const query = "view?filename=viewed.png&type=input"

	res := c.do("GET", "/"+query, "")
	require.Equal(t, 200, res.status)
	require.Equal(t, string(picture), res.body)
	require.Equal(t, "image/png", res.header.Get("Content-Type"))
	etag := res.header.Get("ETag")
	require.NotEmpty(t, etag)
	require.Equal(t, 304, c.do("GET", "/"+query, "", "If-None-Match", etag).status)
	part := c.do("GET", "/"+query, "", "Range", "bytes=1-3")
	require.Equal(t, 206, part.status)
	require.Equal(t, "PNG", part.body)
	require.Equal(t, 416, c.do("GET", "/"+query, "", "Range", "bytes=-0").status)
	require.Equal(t, 404, c.do("GET", "/view?filename=nothing.png&type=input", "").status)

	require.Equal(t, 302, c.do("GET", "/api/"+query, "").status)
}
