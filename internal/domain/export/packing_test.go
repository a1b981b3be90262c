package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// brokenPipe takes some bytes.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, faulttest.ErrAway
	}
	return len(p), nil
}

// opened counts readers, and may refuse to open.
type opened struct {
	blob.Store
	err        error
	open, shut int
}

func (o *opened) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	if o.err != nil {
		return nil, o.err
	}
	r, err := o.Store.Open(ctx, ref)
	o.open++
	return shutting{r, o}, err
}

type shutting struct {
	blob.Reader
	of *opened
}

func (s shutting) Close() error {
	s.of.shut++
	return s.Reader.Close()
}

// An archive that cannot be written, or whose files cannot be opened now, is an error. A file that is damaged
// where it is opened is missing.
func TestAnArchiveThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	items := shelf(t, blobs, strings.Repeat("x", 100_000), "y")
	var whole bytes.Buffer
	_, err := export.Packer{Blobs: blobs}.Pack(t.Context(), &whole, items, nil, task.Progress{})
	require.NoError(t, err)
	for left := 0; left < whole.Len(); left += whole.Len() / 40 {
		o := &opened{Store: blobs}
		packed, err := export.Packer{Blobs: o}.Pack(t.Context(), &brokenPipe{left}, items, nil, task.Progress{})
		require.ErrorIs(t, err, faulttest.ErrAway, left)
		require.Zero(t, packed)
		require.Equal(t, o.open, o.shut)
	}
	_, err = export.Packer{Blobs: &opened{err: faulttest.ErrAway}}.Pack(t.Context(), io.Discard, items, nil, task.Progress{})
	require.ErrorIs(t, err, faulttest.ErrAway)
	require.ErrorContains(t, err, "open asset 0")
	damaged := &opened{err: blob.Corrupt(items[0].Hash)}
	packed, err := export.Packer{Blobs: damaged}.Pack(t.Context(), io.Discard, items, nil, task.Progress{})
	require.NoError(t, err)
	require.Len(t, packed.Missing, 2)
	text := (&export.DamagedError{Asset: "a"}).Error()
	require.Contains(t, text, "asset a is damaged")
}

// Texts are compressed, and files of compressed formats are stored as they are; a file keeps the time of its asset.
func TestOnlyTextsAreCompressed(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	for contentType, method := range map[string]uint16{
		"text/plain": zip.Deflate, "text/csv": zip.Deflate, "application/json": zip.Deflate, "image/svg+xml": zip.Deflate, "image/png": zip.Store,
		"application/octet-stream": zip.Store, "": zip.Store, "json": zip.Store,
	} {
		items := shelf(t, blobs, strings.Repeat("x", 1000))
		items[0].ContentType = contentType
		var out bytes.Buffer
		_, err := export.Packer{Blobs: blobs}.Pack(t.Context(), &out, items, nil, task.Progress{})
		require.NoError(t, err)
		r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		require.NoError(t, err)
		require.Equal(t, method, r.File[0].Method, contentType)
		require.True(t, noon.Equal(r.File[0].Modified))
	}
}

// Each piece and each file is reported, with those that are missing.
func TestProgressIsReportedByPieceAndFile(t *testing.T) {
	t.Parallel()
	blobs := mem.New()
	items := shelf(t, blobs, strings.Repeat("x", 1<<20+1), "y", "z")
	var got []string
	p := export.Packer{Blobs: blobs, Report: func(p task.Progress) {
		got = append(got, fmt.Sprint(p.Attempted, " ", p.Failed, " ", p.Done))
	}}
	_, err := p.Pack(t.Context(), io.Discard, items, map[asset.ID]bool{"1": true}, task.Progress{Failed: 5})
	require.NoError(t, err)
	require.Equal(t, []string{
		"0 5 1048576", "0 5 1048577", "0 5 1048577", "1 5 1048577", "2 6 1048577", "2 6 1048578", "2 6 1048578", "3 6 1048578",
	}, got)
}
