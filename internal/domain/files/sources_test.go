package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

func TestWeightSources(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"huggingface.co", "ftp://a/", "https://", "https://me@a/", "https://a/?x=1", "https://a/#x", "https://a/../b", "https://a//b",
		"https://a/%zz",
	} {
		_, err := files.ParseWeightSources(bad)
		require.Error(t, err, bad)
	}
	sources, err := files.ParseWeightSources(" https://a.example/org  http://10.0.0.5:8000 ")
	require.NoError(t, err)
	require.Equal(t, []string{"a.example:443", "10.0.0.5:8000"}, sources.Hosts())
	model := func(name, address, folder string) uiworkflow.Model {
		return uiworkflow.Model{Name: name, URL: address, Folder: folder}
	}
	good := []uiworkflow.Model{
		model("a.safetensors", "https://a.example/org/x/a.safetensors?download=true", "vae"),
		model("sub/a.safetensors", "https://A.example/org/a.safetensors", "vae"), model("b.pt", "http://10.0.0.5:8000/b.pt", "loras"),
	}
	bad := model("c.pt", "https://a.example/org/c.pt", "vae")
	bad.HashType, bad.Hash = "SHA256", strings.Repeat("0", 66)
	named := append(good[:len(good):len(good)],
		good[0], // twice
		bad,
		model("another.safetensors", "https://a.example/org/x/a.safetensors", "vae"),
		model("c.pt", "https://a.example/organs/c.pt", "vae"), model("c.pt", "https://a.example:8443/org/c.pt", "vae"),
		model("c.pt", "https://a.example/org/%2e%2e/c.pt", "vae"), model("c.pt", "https://a.example/org//c.pt", "vae"),
		model("../c.pt", "https://a.example/org/c.pt", "vae"), model(".c.pt", "https://a.example/org/c.pt", "vae"),
		model("c.pt", "https://a.example/org/c.pt", ""), model("c.pt", "https://a.example/org/c.pt", "../vae"))
	raw, err := json.Marshal(map[string]any{"workflow": map[string]any{"nodes": []any{
		map[string]any{"properties": map[string]any{"models": named}},
	}}})
	require.NoError(t, err)
	require.Equal(t, good, sources.Models(map[string]json.RawMessage{"extra_pnginfo": raw}))
	require.Empty(t, files.WeightSources(nil).Models(map[string]json.RawMessage{"extra_pnginfo": raw}))
	require.Empty(t, sources.Models(nil))
}
