package metadata_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui/metadata"
)

const submitted = `{"1":{"class_type":"KSampler","inputs":{"text":"a \"cat\" & <dog> – größer","cfg":7.0}}}`

// asWritten is the submitted graph as ComfyUI writes it.
const asWritten = `{"1": {"class_type": "KSampler", "inputs": {"text": "a \"cat\" & <dog> \u2013 gr\u00f6\u00dfer", "cfg": 7.0}}}`

// marked returns a graph, and the prompt that stands for it in the form that a server writes.
func marked(t testing.TB, nodes int) (*metadata.Graph, string) {
	t.Helper()
	g, err := metadata.New("millrace-p1", json.RawMessage(submitted))
	require.NoError(t, err)
	prompt := map[string]any{}
	for i := range nodes {
		prompt[fmt.Sprint("millrace", i)] = map[string]any{
			"class_type": "SaveImage",
			"inputs":     map[string]any{"filename_prefix": "millrace/p1/x { \"y\""},
		}
	}
	raw, err := json.Marshal(prompt)
	require.NoError(t, err)
	sent := g.Mark(raw)
	require.True(t, json.Valid(sent))
	spaced := strings.ReplaceAll(strings.ReplaceAll(string(sent), `":`, `": `), `,"`, `, "`)
	require.True(t, json.Valid([]byte(spaced)))
	return g, spaced
}

func copied(t testing.TB, g *metadata.Graph, file string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, g.Copy(&out, strings.NewReader(file)))
	return out.String()
}

func TestPromptIsReplacedByATextOfTheSameLength(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 50, 20_000} {
		g, prompt := marked(t, nodes)
		escaped, err := json.Marshal(map[string]string{"prompt": prompt})
		require.NoError(t, err)
		for name, file := range map[string]string{
			"alone":              prompt,
			"in a file":          strings.Repeat("x", 1<<20) + "prompt=" + prompt + strings.Repeat("y", 300_000),
			"across a window":    strings.Repeat("x", 256<<10-40) + prompt + "y",
			"in a JSON string":   "head" + string(escaped) + "tail",
			"twice":              prompt + "\x00" + prompt,
			"cut off in between": "head" + prompt[:len(prompt)-3],
		} {
			got := copied(t, g, file)
			require.Len(t, got, len(file), name)
			if name == "cut off in between" {
				require.Equal(t, file, got)
				continue
			}
			require.NotContains(t, got, "millrace", name)
			want := asWritten
			if name == "in a JSON string" {
				raw, err := json.Marshal(asWritten)
				require.NoError(t, err)
				want = strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(raw[1 : len(raw)-1]))
			}
			require.Contains(t, got, want, name)
			if i := strings.Index(file, `{`); i > 0 {
				require.Equal(t, file[:i], got[:i], name)
			}
		}
	}
}

func TestFilesWithoutMarksAreCopiedByteForByte(t *testing.T) {
	t.Parallel()
	g, _ := marked(t, 1)
	other, err := metadata.New("millrace-p2", json.RawMessage(submitted))
	require.NoError(t, err)
	foreign := string(other.Mark([]byte(`{"1":{}}`)))
	for name, file := range map[string]string{
		"empty": "", "short": "ab", "text": strings.Repeat("some text ", 100_000), "another prompt": foreign,
		"a PNG that is cut off": "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR123", "a PNG of nothing": "\x89PNG\r\n\x1a\n",
		"an Ogg that is none": "OggS and more", "an Ogg that is cut off": "OggS" + strings.Repeat("\x00", 22) + "\x05abcde" + "12",
	} {
		require.Equal(t, file, copied(t, g, file), name)
	}
}

func TestErrorsOfTheFileAreReturned(t *testing.T) {
	t.Parallel()
	g, prompt := marked(t, 1)
	for _, head := range []string{"", "\x89PNG\r\n\x1a\n", "OggS"} {
		r := io.MultiReader(strings.NewReader(head+prompt), iotest.ErrReader(io.ErrClosedPipe))
		if head == "\x89PNG\r\n\x1a\n" {
			r = io.MultiReader(strings.NewReader(head), iotest.ErrReader(io.ErrClosedPipe))
		}
		require.ErrorIs(t, g.Copy(io.Discard, r), io.ErrClosedPipe, "%q", head)
	}
}

// chunk is a chunk of a PNG.
func chunk(kind, body string) string {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, kind...), body...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:])))
}

func packed(text string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestTextsOfPNGHoldTheGraphAndNothingElse(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 300, 200))))
	plain := b.String()
	const header = 8 + 25
	g, prompt := marked(t, 300)
	for name, c := range map[string]struct{ before, after string }{
		"tEXt":            {chunk("tEXt", "prompt\x00"+prompt), chunk("tEXt", "prompt\x00"+asWritten)},
		"of an animation": {chunk("comf", "prompt\x00"+prompt), chunk("comf", "prompt\x00"+asWritten)},
		"iTXt":            {chunk("iTXt", "prompt\x00\x00\x00de\x00\x00"+prompt), chunk("iTXt", "prompt\x00\x00\x00de\x00\x00"+asWritten)},
		"packed iTXt": {
			chunk("iTXt", "prompt\x00\x01\x00de\x00\x00"+packed(prompt)),
			chunk("iTXt", "prompt\x00\x01\x00de\x00\x00"+packed(asWritten)),
		},
		"zTXt":            {chunk("zTXt", "prompt\x00\x00"+packed(prompt)), chunk("zTXt", "prompt\x00\x00"+packed(asWritten))},
		"of another kind": {chunk("tEXt", "workflow\x00{}"), chunk("tEXt", "workflow\x00{}")},
		"damaged zTXt":    {chunk("zTXt", "prompt\x00\x00nothing"), chunk("zTXt", "prompt\x00\x00nothing")},
	} {
		got := copied(t, g, plain[:header]+c.before+plain[header:])
		require.Equal(t, plain[:header]+c.after+plain[header:], got, name)
		_, err := png.Decode(strings.NewReader(got))
		require.NoError(t, err, name)
	}
}
