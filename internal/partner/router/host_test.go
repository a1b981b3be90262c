package router_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/router"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

const entry = `
provider: studio
title: Studio
base: https://api.studio.example
auth: {kind: header, header: x-key, env: [STUDIO_KEY]}
models:
  - model: many
    title: Many
    protocol: sync
    submit: {url: /run}
    hosting: {assets: ["/images/*/url"], lifetime: 12h}
    price: {exact: "0", as_of: "2026-11-01"}
    charges_on_policy_rejection: "no"
`

// operatorKey is the operator's credential.
const operatorKey = "k3y-of-the-operator"

// shelf maps addresses to their content. Every other address fails.
type shelf map[string]string

func (s shelf) Fetch(_ context.Context, address string, _ outbound.Bounds, _ []string) (*outbound.Content, error) {
	text, ok := s[address]
	if !ok {
		return nil, errors.New("gone")
	}
	return &outbound.Content{ReadCloser: io.NopCloser(strings.NewReader(text)), ContentType: "image/png", Size: int64(len(text))}, nil
}

// register records one asset for each path.
type register map[string]asset.Stored

func (r register) Reference(_ context.Context, n asset.New) (asset.Stored, bool, error) {
	made, ok := r[*n.FilePath]
	if !ok {
		return made, false, fault.New(fault.NotFound, fault.CodeBlobNotFound, "not held")
	}
	return made, true, nil
}

func (r register) Create(_ context.Context, n asset.New) (asset.Stored, error) {
	made := asset.Stored{Asset: asset.Asset{ID: asset.NewID(), ContentType: n.ContentType, ExpiresAt: n.Deadline}}
	r[*n.FilePath] = made
	return made, nil
}

// plainSigner makes readable links.
type plainSigner struct{}

func (plainSigner) SignFor(ttl time.Duration, id, _, filename, _ string) (string, time.Time) {
	return "/files/" + id + "/" + filename + "?" + ttl.String(), time.Time{}
}

func newHosting(t *testing.T, fetch shelf) (*router.Hosting, *mem.Store, register) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "studio.yaml"), []byte(entry), 0o600))
	models, err := catalog.Load(catalog.Options{Dirs: []string{dir}})
	require.NoError(t, err)
	blobs, assets := mem.New(), register{}
	return &router.Hosting{
		Catalog: models, Fetch: fetch, Lookup: func(string) (string, bool) { return operatorKey, true }, Blobs: blobs, Assets: assets,
		Signer: plainSigner{}, Base: "https://router.example/",
		Log: slog.New(slog.DiscardHandler),
	}, blobs, assets
}

func answered(t *testing.T, blobs blob.Store, text string) call.Call {
	t.Helper()
	ref, err := blob.PutBytes(t.Context(), blobs, []byte(text))
	require.NoError(t, err)
	return call.Call{
		ID: "0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d", Account: "a", Model: "studio/many",
		Answer: &call.Body{Ref: ref, Size: int64(len(text)), ContentType: "application/json"},
	}
}

func textOf(t *testing.T, blobs blob.Store, b call.Body) string {
	t.Helper()
	r, err := blobs.Open(t.Context(), b.Ref)
	require.NoError(t, err)
	defer r.Close()
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(raw)
}

func TestAFailedCopyLeavesTheProvidersReference(t *testing.T) {
	t.Parallel()
	h, blobs, assets := newHosting(t, shelf{"https://cdn.example/a.png": "A", "https://cdn.example/c.png": "C"})
	c := answered(t, blobs, `{ "images" : [ {"url":"https://cdn.example/a.png"}, {"url":"https:\/\/cdn.example\/b.png"},`+
		`{"url":"https://cdn.example/c.png"} `+
		`], "seed":1e2 }`)
	out, err := h.Host(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 1, out.Failed)
	require.Len(t, out.Assets, 2)
	require.Len(t, assets, 2)
	want := `{ "images" : [ {"url":"https://router.example/files/` + out.Assets[0].Asset + `/0-a.png?12h0m0s"}, ` +
		`{"url":"https:\/\/cdn.example\/b.png"},{"url":"https://router.example/files/` + out.Assets[1].Asset +
		`/2-c.png?12h0m0s"} ], "seed":1e2 }`
	require.Equal(t, want, textOf(t, blobs, out.Answer))
	again, err := h.Host(t.Context(), c) // a repeated attempt finds the same assets
	require.NoError(t, err)
	require.Equal(t, out.Assets, again.Assets)
	require.Len(t, assets, 2)
}

func TestAnAnswerThatCannotBeHostedIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing to copy": `{"images":[]}`, "no address": `{"images":[{"url":"data:x"}]}`, "not JSON": `<html>`,
		"every copy fails": `{"images":[{"url":"https://cdn.example/x"}]}`,
	} {
		h, blobs, assets := newHosting(t, shelf{})
		c := answered(t, blobs, text)
		out, err := h.Host(t.Context(), c)
		require.NoError(t, err, name)
		require.Equal(t, *c.Answer, out.Answer, name)
		require.Empty(t, assets)
	}
	h, blobs, _ := newHosting(t, shelf{"https://cdn.example/a": "A"})
	h.Base = "" // neither the service nor the call has a public address
	out, err := h.Host(t.Context(), answered(t, blobs, `{"images":[{"url":"https://cdn.example/a"}]}`))
	require.NoError(t, err)
	require.Equal(t, 1, out.Failed)
}

func TestACopiedFileDoesNotHoldTheOperatorsKey(t *testing.T) {
	t.Parallel()
	h, blobs, _ := newHosting(t, shelf{"https://cdn.example/a.png": "made with " + operatorKey + " at noon"})
	out, err := h.Host(t.Context(), answered(t, blobs, `{"images":[{"url":"https://cdn.example/a.png"}]}`))
	require.NoError(t, err)
	require.Len(t, out.Assets, 1)
	r, err := blobs.Open(t.Context(), out.Assets[0].Ref)
	require.NoError(t, err)
	defer r.Close()
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "made with "+strings.Repeat("*", len(operatorKey))+" at noon", string(raw))
}
