package standard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
)

// definitionsOfComfyUI are the definitions of the shared classes in a plain installation of ComfyUI 0.33.0, without texts
// for people and without names of files.
const definitionsOfComfyUI = "testdata/definitions.json"

// texts lists the members of a definition that each program words for itself.
var texts = []string{"tooltip", "description", "output_tooltips", "search_aliases", "price_badge"}

func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // 1 and 1.0 are different types of a widget
	var out map[string]any
	require.NoError(t, d.Decode(&out))
	return out
}

func TestDefinitionsAreThoseOfComfyUI(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(definitionsOfComfyUI)
	require.NoError(t, err)
	want := decode(t, raw)
	classes, err := standard.Registry(&ffmpeg.Tool{})
	require.NoError(t, err)
	defined, err := classes.Definitions(t.Context(), nil)
	require.NoError(t, err)
	raw, err = json.Marshal(defined)
	require.NoError(t, err)
	got := decode(t, raw)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if strings.HasPrefix(name, "Millrace") || name == "SaveImageWebsocket" { // classes that ComfyUI 0.33.0 does not have built in
			continue
		}
		require.Contains(t, want, name, "ComfyUI has no class of that name")
		for _, difference := range unequal("", want[name], got[name]) {
			t.Errorf("%s%s", name, difference)
		}
	}
	for name := range want {
		require.Contains(t, got, name, "the class is gone")
	}
}

// unequal lists the paths at which two values of definitions differ.
func unequal(at string, want, got any) (differences []string) {
	wantMembers, isObject := want.(map[string]any)
	gotMembers, bothObjects := got.(map[string]any)
	if isObject && bothObjects {
		names := maps.Clone(wantMembers)
		maps.Copy(names, gotMembers)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !slices.Contains(texts, name) {
				differences = append(differences, unequal(at+"."+name, wantMembers[name], gotMembers[name])...)
			}
		}
		return differences
	}
	wantList, isList := bare(want).([]any)
	gotList, bothLists := bare(got).([]any)
	if isList && bothLists && len(wantList) == len(gotList) {
		for i := range wantList {
			differences = append(differences, unequal(fmt.Sprintf("%s[%d]", at, i), wantList[i], gotList[i])...)
		}
		return differences
	}
	if want == nil && got == false && strings.HasPrefix(at, ".output_is_list[") {
		return nil // lists are open in the original
	}
	if a, b := fmt.Sprint(bare(want)), fmt.Sprint(bare(got)); a != b && !sameLarge(want, got) {
		differences = append(differences, fmt.Sprintf("%s: %s there, %s here", at, a, b))
	}
	return differences
}

// bare drops the options of an input that consist only of texts: [type, {"tooltip": …}] is equivalent to [type].
func bare(value any) any {
	list, ok := value.([]any)
	if !ok || len(list) != 2 {
		return value
	}
	if options, ok := list[1].(map[string]any); ok {
		if len(options) == 0 || len(options) == 1 && options["tooltip"] != nil {
			return list[:1]
		}
	}
	return value
}

// sameLarge reports whether two numbers are equal as floats and beyond the range in which floats represent all
// integers.
func sameLarge(want, got any) bool {
	a, isNumber := want.(json.Number)
	b, bothNumbers := got.(json.Number)
	if !isNumber || !bothNumbers {
		return false
	}
	x, err := a.Float64()
	y, err2 := b.Float64()
	return err == nil && err2 == nil && x == y && (x > 1<<53 || x < -1<<53)
}
