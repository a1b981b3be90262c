package remote_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node/remote"
)

// Choices that list a server's input folder become choices of the account; other choices stay as they are.
func TestChoicesOfTheInputFolderAreThoseOfTheAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input, choices    string
		folder, directory bool
	}{
		"files":                        {"clip", `["a.png"]`, true, false},
		"a file that came later":       {"video", `["a.png","b.mp4"]`, true, false},
		"no file":                      {"video", `[]`, true, false},
		"folders":                      {"directory", `["3d","frames"]`, true, true},
		"the folder of this program":   {"where", `["millrace"]`, true, true},
		"no folder":                    {"directory", `[]`, true, true},
		"no model":                     {"lora_name", `[]`, false, false},
		"models":                       {"model", `["a.safetensors"]`, false, false},
		"files of another folder":      {"font", `["a.png","b.ttf"]`, false, false},
		"files that are not of media":  {"file", `["a.json"]`, false, false},
		"words that name no file here": {"image", `["first","second"]`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := remote.ParseDocument("", []string{"LoadImage", "Pack"}, map[string]json.RawMessage{
				"LoadImage": json.RawMessage(`{"input":{"required":{"image":[["a.png"],{"image_upload":true}]}},"output":["IMAGE"]}`),
				"Pack":      json.RawMessage(`{"input":{"required":{"` + c.input + `":[` + c.choices + `]}},"output":["IMAGE"]}`),
			})
			require.Empty(t, doc.LeftOut)
			classes, err := remote.Merge([]*remote.Document{doc})
			require.NoError(t, err)
			in := classes[1].Inputs[0]
			require.Equal(t, c.folder, in.Folder != "")
			require.Equal(t, c.directory, in.Directory)
		})
	}
}
