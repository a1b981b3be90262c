package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// shelf makes items of texts.
func shelf(t *testing.T, blobs blob.Store, texts ...string) []export.Item {
	t.Helper()
	var entries []export.Entry
	for i, text := range texts {
		ref, err := blob.PutBytes(t.Context(), blobs, []byte(text))
		require.NoError(t, err)
		name := fmt.Sprintf("%d.png", i)
		entries = append(entries, export.Entry{
			Asset: asset.ID(fmt.Sprint(i)), Public: asset.PublicID(fmt.Sprint(i)), Hash: ref, Size: int64(len(text)), Name: name, Filename: name,
			ContentType: "image/png", CreatedAt: noon,
		})
	}
	return export.Named(entries, export.Preserve)
}

// unpack reads an archive as any program does.
func unpack(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	found := map[string]string{}
	for _, f := range r.File {
		content, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(content)
		require.NoError(t, err)
		require.NotContains(t, found, f.Name)
		found[f.Name] = string(data)
	}
	return found
}

func TestAnArchiveHoldsItsFiles(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	items := shelf(t, blobs, "one", "", strings.Repeat("three", 1<<20))
	items[0].ContentType = "text/plain"
	var out bytes.Buffer
	var got []task.Progress
	p := export.Packer{Blobs: blobs, Report: func(p task.Progress) { got = append(got, p) }}
	packed, err := p.Pack(t.Context(), &out, items, nil, task.Progress{Task: "e", Files: 3, Bytes: 3 + 5<<20})
	require.NoError(t, err)
	require.Equal(t, export.Packed{Files: 3, Bytes: 3 + 5<<20}, packed)
	require.Equal(t, map[string]string{"0.png": "one", "1.png": "", "2.png": strings.Repeat("three", 1<<20)}, unpack(t, out.Bytes()))
	require.Greater(t, out.Len(), 5<<20, "what is compressed already is stored as it is")

	last := got[len(got)-1]
	require.Equal(t, task.Progress{Task: "e", Files: 3, Attempted: 3, Bytes: 3 + 5<<20, Done: 3 + 5<<20}, last)
	require.InDelta(t, 1, last.Fraction(), 0)
	require.Greater(t, len(got), 5, "also within a file")
	for i := 1; i < len(got); i++ {
		require.GreaterOrEqual(t, got[i].Done, got[i-1].Done)
	}
}

func TestLostFilesAreReportedAsMissing(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	items := shelf(t, blobs, "one", "two", "three")
	items[1].Hash = blob.Sum([]byte("never stored"))
	var out bytes.Buffer
	packed, err := export.Packer{Blobs: blobs}.Pack(t.Context(), &out, items, map[asset.ID]bool{"2": true}, task.Progress{})
	require.NoError(t, err)
	require.Equal(t, export.Packed{Files: 1, Bytes: 3, Missing: []export.Missing{
		{Asset: "1", Name: "1.png", Error: "fetch_failed"}, {Asset: "2", Name: "2.png", Error: "fetch_failed"},
	}}, packed)
	require.Equal(t, map[string]string{"0.png": "one"}, unpack(t, out.Bytes()))
}

// spoiled is a store in which a blob breaks off with an error.
type spoiled struct {
	blob.Store
	ref   blob.Ref
	cause error
}

type spoiledReader struct {
	blob.Reader
	cause error
}

func (r spoiledReader) Read([]byte) (int, error) { return 0, r.cause }

func (s spoiled) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	r, err := s.Store.Open(ctx, ref)
	if err == nil && ref == s.ref {
		r = spoiledReader{r, s.cause}
	}
	return r, err
}

func TestDamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	items := shelf(t, blobs, "one", "two")
	_, err := export.Packer{Blobs: spoiled{blobs, items[1].Hash, blob.Corrupt(items[1].Hash)}}.Pack(t.Context(), io.Discard, items, nil,
		task.Progress{})
	var damaged *export.DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, asset.ID("1"), damaged.Asset)

	away := errors.New("the bucket is away")
	_, err = export.Packer{Blobs: spoiled{blobs, items[1].Hash, away}}.Pack(t.Context(), io.Discard, items, nil, task.Progress{})
	require.ErrorIs(t, err, away)
	require.False(t, errors.As(err, &damaged), "what only failed is tried again")
}

func TestPackingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	ctx, cancel := context.WithCancel(t.Context())
	items := shelf(t, blobs, strings.Repeat("x", 4<<20))
	p := export.Packer{Blobs: blobs, Report: func(task.Progress) { cancel() }}
	_, err := p.Pack(ctx, io.Discard, items, nil, task.Progress{})
	require.ErrorIs(t, err, context.Canceled)
}
