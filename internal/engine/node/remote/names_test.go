package remote_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// Easy-Use declares an output by its choices, and then its name is these choices, too.
func TestAnOutputMayBeNamedByItsChoices(t *testing.T) {
	t.Parallel()
	const definition = `{"output":["STRING",[]],"output_is_list":[true,true],"output_name":["STRING",[]],"python_module":"custom_nodes.Easy"}`
	document := remote.ParseDocument("server", []string{"easy promptLine"}, map[string]json.RawMessage{
		"easy promptLine": json.RawMessage(definition),
	})
	require.Empty(t, document.LeftOut)
	classes, err := remote.Merge([]*remote.Document{document})
	require.NoError(t, err)
	require.Equal(t, []node.Output{{Type: node.String, IsList: true}, {Type: node.Combo, IsList: true}}, classes[0].Outputs)
	require.True(t, classes[0].MoreOutputs)
}

// A class of a server that cannot be used takes no other class away: neither of its own server nor of another one, whichever was
// registered first.
func TestAClassThatCannotBeUsedIsLeftOutByItself(t *testing.T) {
	t.Parallel()
	const usable = `{"input":{"required":{"text":["STRING"]}},"output":["STRING"]}`
	for name, bad := range map[string]struct{ class, definition string }{
		"no name":             {"", usable},
		"a very long name":    {strings.Repeat("n", 100_000), usable},
		"NUL":                 {"a\x00b", usable},
		"a lone surrogate":    {"a\ufffdb", usable},
		"not an object":       {"Broken", `7`},
		"inputs are a string": {"Broken", `{"input":"x"}`},
	} {
		definitions := map[string]json.RawMessage{bad.class: json.RawMessage(bad.definition), "Good": json.RawMessage(usable)}
		hostile := remote.ParseDocument("hostile", []string{bad.class, "Good"}, definitions)
		require.Len(t, hostile.LeftOut, 1, name)
		require.Contains(t, hostile.Problem(), "1 of 2 classes cannot be used", name)
		require.Less(t, len(hostile.Problem()), 300, name)
		kind := remote.ParseDocument("kind", []string{"Other", "Markup <b>&</b>", "../../x"}, map[string]json.RawMessage{
			"Other": json.RawMessage(usable), "Markup <b>&</b>": json.RawMessage(usable), "../../x": json.RawMessage(usable),
		})
		require.Empty(t, kind.LeftOut, "text is a name, whatever it looks like")
		for _, order := range [][]*remote.Document{{hostile, kind}, {kind, hostile}} {
			classes, err := remote.Merge(order)
			require.NoError(t, err, name)
			registry, err := node.NewRegistry()
			require.NoError(t, err)
			require.NoError(t, registry.ExtendFrom(node.Servers, classes...), name)
			for _, class := range []string{"Good", "Other", "Markup <b>&</b>", "../../x"} {
				_, known := registry.Lookup(class)
				require.True(t, known, "%s: %s", name, class)
			}
			_, known := registry.Lookup(bad.class)
			require.False(t, known, name)
		}
	}
}
