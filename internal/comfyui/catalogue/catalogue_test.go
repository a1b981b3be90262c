package catalogue_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// member starts a server with the given checkpoints.
func member(t *testing.T, checkpoints ...string) (catalogue.Member, *sim.Machine) {
	t.Helper()
	m, err := sim.Start("127.0.0.1:0", sim.Options{Checkpoints: checkpoints})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	c, err := comfyui.New(m.URL(), comfyui.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return catalogue.Member{Address: c.Address(), Server: c}, m
}

func TestModelsOfAllServersAreOneList(t *testing.T) {
	t.Parallel()
	first, machine := member(t, "b.safetensors", "a.safetensors")
	second, _ := member(t, "c.safetensors", "a.safetensors")
	members := []catalogue.Member{first, second}
	c := catalogue.New(func() []catalogue.Member { return members }, catalogue.Options{Every: time.Nanosecond})
	require.Empty(t, c.Models().Folders)
	c.Refresh(t.Context())
	models := c.Models()
	require.Equal(t, []string{"checkpoints", "loras", "vae"}, models.Folders)
	require.Equal(t, []string{"a.safetensors", "b.safetensors", "c.safetensors"}, models.Files["checkpoints"])

	machine.Kill()
	c.Refresh(t.Context())
	require.Equal(t, models, c.Models(), "a server that is away keeps its files")

	members = members[1:]
	c.Refresh(t.Context())
	require.Equal(t, []string{"a.safetensors", "c.safetensors"}, c.Models().Files["checkpoints"])
}

func TestServersAreReadOnlyWhenDue(t *testing.T) {
	t.Parallel()
	m, machine := member(t, "a.safetensors")
	c := catalogue.New(func() []catalogue.Member { return []catalogue.Member{m} }, catalogue.Options{Every: time.Hour})
	machine.Kill()
	c.Refresh(t.Context())
	require.NoError(t, machine.Restart())
	c.Refresh(t.Context())
	require.Empty(t, c.Models().Folders)
}

func TestOnlyTheChosenServerGivesWebFiles(t *testing.T) {
	t.Parallel()
	m, _ := member(t, "a.safetensors")
	list := func() []catalogue.Member { return []catalogue.Member{m} }
	none := catalogue.New(list, catalogue.Options{})
	none.Refresh(t.Context())
	require.Empty(t, none.Extensions())
	_, err := none.WebFile(t.Context(), "/extensions/sim-pack/sim.js")
	require.True(t, fault.Is(err, fault.NotFound))

	c := catalogue.New(list, catalogue.Options{Web: m.Address})
	c.Refresh(t.Context())
	require.Equal(t, []string{"/extensions/sim-pack/sim.js"}, c.Extensions())
	file, err := c.WebFile(t.Context(), c.Extensions()[0])
	require.NoError(t, err)
	raw, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NotEmpty(t, raw)
	for _, path := range []string{"/extensions/other/a.js", "/extensions/sim-pack/", "/queue", "/extensions/core/a.js"} {
		require.False(t, c.HasWebFile(path), path)
	}
	_, err = c.WebFile(t.Context(), "/extensions/sim-pack/../../queue")
	require.Equal(t, fault.CodeUnsafeName, fault.CodeOf(err))
}
