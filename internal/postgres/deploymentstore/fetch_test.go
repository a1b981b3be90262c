package deploymentstore_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/keystore"
)

// moving is a submitter whose first submissions come after the versions of the deployment have changed.
type moving struct{ first int }

func (m *moving) Submit(context.Context, job.Submission) (job.Submitted, error) {
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
	deps.Keys, deps.Jobs = keys, &moving{first: 3}
	deps.Assets = asset.NewService(assetstore.New(f.pool, f.events), deps.Blobs, asset.Options{})
	deps.Fetch = func(context.Context, string) (io.ReadCloser, string, int64, error) {
		fetched++
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
	call := func(key string) error {
		_, err := service.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{
			Account: acme, IdempotencyKey: key, Inputs: map[string]json.RawMessage{"picture": json.RawMessage(`"https://example.com/x.png"`)},
		}})
		return err
	}
	require.NoError(t, call("new"))
	require.Equal(t, 1, fetched, "the call was decided four times")

	require.NoError(t, keys.Use(t.Context(), acme, job.KeyOperation, "used"))
	require.Equal(t, fault.CodeIdempotencyKeyReuse, fault.CodeOf(call("used")))
	require.Equal(t, 1, fetched)
}
