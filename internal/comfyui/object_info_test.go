package comfyui_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

func TestDefinitionsOfTheSimulatorAreServedAsTheyAre(t *testing.T) {
	t.Parallel()
	requireOwnDefinitions(t, dial(t, machine(t, sim.Options{Pack: true}).URL(), comfyui.Options{}))
}

func TestRealServersDefinitionsAreServedAsTheyAre(t *testing.T) {
	addresses := realServers()
	if len(addresses) == 0 {
		t.Skip("MILLRACE_TEST_COMFYUI names no servers")
	}
	for _, address := range addresses {
		t.Run(strings.TrimPrefix(address, "http://"), func(t *testing.T) {
			requireOwnDefinitions(t, dial(t, address, comfyui.Options{Timeout: time.Minute}))
		})
	}
}

// requireOwnDefinitions requires that clients read, for every class of a server, the definition that the server
// wrote, key by key, except for the choice of files.
func requireOwnDefinitions(t *testing.T, server comfyui.Server) {
	t.Helper()
	said, err := server.Classes(t.Context(), "")
	require.NoError(t, err)
	document := remote.ParseDocument(said.Digest, said.Names, said.Definitions)
	require.Empty(t, document.LeftOut)
	classes, err := remote.Merge([]*remote.Document{document, document})
	require.NoError(t, err)
	registry, err := node.NewRegistry(classes...)
	require.NoError(t, err)
	definitions, err := registry.Definitions(t.Context(), nil)
	require.NoError(t, err)
	raw, err := json.Marshal(definitions)
	require.NoError(t, err)
	var served map[string]map[string]any
	require.NoError(t, json.Unmarshal(raw, &served))
	require.Len(t, served, len(said.Names))
	for name, written := range said.Definitions {
		var want map[string]any
		require.NoError(t, json.Unmarshal(written, &want))
		withoutFiles(want)
		withoutFiles(served[name])
		require.Equal(t, want, served[name], name)
	}
	t.Logf("%d classes", len(served))
}

// withoutFiles removes the choices of inputs that offer files.
func withoutFiles(definition map[string]any) {
	sections, _ := definition["input"].(map[string]any)
	for _, section := range sections {
		inputs, _ := section.(map[string]any)
		for _, spec := range inputs {
			parts, _ := spec.([]any)
			if len(parts) < 2 {
				continue
			}
			options, _ := parts[1].(map[string]any)
			for key := range options {
				if strings.HasSuffix(key, "_upload") || key == "image_folder" {
					delete(options, "options")
					if _, older := parts[0].([]any); older {
						parts[0] = nil
					}
				}
			}
		}
	}
}
