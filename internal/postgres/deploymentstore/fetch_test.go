package deploymentstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// moving is a submitter whose first submissions come after the versions of the deployment have changed.
type moving struct {
	first int
	last  job.Submission
}

func (m *moving) Submit(_ context.Context, sub job.Submission) (job.Submitted, error) {
	m.last = sub
	if m.first--; m.first >= 0 {
		return job.Submitted{}, deployment.ErrMoved
	}
	return job.Submitted{}, nil
}

func TestAnAddressIsFetchedOnceAndNotForAUsedKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keys, fetched := keystore.New(f.pool), 0
	deps := f.Deps
	jobs := &moving{first: 3}
	deps.Keys, deps.Jobs = keys, jobs
	deps.Assets = asset.NewService(assetstore.New(f.pool, f.events), deps.Blobs, asset.Options{})
	lost := errors.New("the connection broke")
	deps.Fetch = func(_ context.Context, address string) (io.ReadCloser, string, int64, error) {
		fetched++
		if address == "https://example.com/broken.png" {
			return io.NopCloser(iotest.ErrReader(lost)), "image/png", 9, nil
		}
		return io.NopCloser(strings.NewReader("a picture")), "image/png", 9, nil
	}
	service := deployment.NewService(deps)
	takesAFile := content(1)
	takesAFile.Graph = []byte(`{"1":{"class_type":"LoadImage","inputs":{"image":"x.png"}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"x"}}}`)
	takesAFile.Schema.Inputs = []callable.Input{{
		Name: "picture", Kind: callable.Image,
		Targets: []callable.Target{{Node: "1", Input: "image"}},
	}}
	_, err := service.Add(t.Context(), acme, "portrait", takesAFile, by)
	require.NoError(t, err)
	call := func(key, file string) error {
		_, err := service.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{
			Account: acme, IdempotencyKey: key, Inputs: map[string]json.RawMessage{"picture": json.RawMessage(`"https://example.com/` + file + `"`)},
		}})
		return err
	}
	require.NoError(t, call("new", "x.png"))
	require.Equal(t, 1, fetched, "the call was decided four times")
	digest := blob.Sum([]byte("a picture"))
	require.Regexp(t, `"image":{"__type":"core/ASSET","info":{"id":"[0-9a-f-]{36}"}}`, string(jobs.last.Prompt), "the graph reads it")
	require.JSONEq(t, `"`+digest.String()+`"`, string(jobs.last.Inputs["picture"]), "the recorded value has no address")
	require.ErrorIs(t, call("another", "broken.png"), lost)
	fetched = 1

	require.NoError(t, keys.Use(t.Context(), acme, job.KeyOperation, "used"))
	require.Equal(t, fault.CodeIdempotencyKeyReuse, fault.CodeOf(call("used", "x.png")))
	require.Equal(t, 1, fetched)
}
