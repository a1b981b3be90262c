package deployment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Versions that drifted are marked, those that did not any more are cleared, and a class whose servers are away keeps its mark.
func TestTheMarksOfDriftFollowTheDefinitions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version int
		live    int
		share   int
		digest  string // of the class Paint, as it was; "" = as it is
		before  []string
		want    []string
		noted   bool
	}{
		"as it was":                {1, 1, 0, "", nil, nil, false},
		"drifted":                  {1, 1, 0, "0", nil, []string{"Paint"}, true},
		"drifted, in a share":      {2, 1, 2, "0", nil, []string{"Paint"}, true},
		"drifted, and not in use":  {2, 1, 0, "0", nil, nil, false},
		"marked":                   {1, 1, 0, "0", []string{"Paint"}, nil, false},
		"marked, and as it was":    {1, 1, 0, "", []string{"Paint"}, []string(nil), true},
		"marked, and not in use":   {2, 1, 0, "", []string{"Paint"}, []string(nil), true},
		"marked, its class away":   {1, 1, 0, "", []string{"Gone"}, nil, false},
		"drifted beside one away":  {1, 1, 0, "0", []string{"Gone"}, []string{"Gone", "Paint"}, true},
		"marked with another away": {1, 1, 0, "", []string{"Gone", "Paint"}, []string{"Gone"}, true},
	} {
		f, _ := newCalls(t)
		f.put("portrait", sizedPaint, sized())
		f.version("portrait", strings.Replace(sizedPaint, "1", "1", 1), pictured())
		if c.digest != "" {
			raw, err := json.Marshal(deployment.Content{Graph: json.RawMessage(sizedPaint), Classes: map[string]string{"Paint": c.digest}})
			require.NoError(t, err)
			f.store.all[0].Versions[c.version-1].Digest, err = blob.PutBytes(t.Context(), f.blobs, raw)
			require.NoError(t, err)
		}
		d := &f.store.all[0]
		d.Live, d.Share.Version, d.Versions[c.version-1].Drifted = c.live, c.share, c.before
		require.NoError(t, f.NoteDrift(t.Context()), name)
		if !c.noted {
			require.Zero(t, f.store.commits, name)
			continue
		}
		require.Equal(t, []any{deployment.DriftedV1{Version: c.version, Classes: c.want}}, f.store.events(), name)
	}
}

// deletedMeanwhile is a store of which one deployment is deleted after a page was read.
type deletedMeanwhile struct{ *kept }

func (d deletedMeanwhile) After(ctx context.Context, after deployment.ID, limit int) ([]deployment.Deployment, error) {
	page, err := d.kept.After(ctx, after, limit)
	return append([]deployment.Deployment{{ID: "gone", Account: "acme"}}, page...), err
}

// An error of the comparison counts the deployments that could not be read, and passes over one that was deleted meanwhile.
func TestTheComparisonCountsWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	for i := range 3 {
		f.put(fmt.Sprint("d", i), sizedPaint, sized())
		f.store.all[i].ID = deployment.ID(fmt.Sprintf("%036d", i))
	}
	f.Store = deletedMeanwhile{f.store}
	require.NoError(t, f.NoteDrift(t.Context()))
	f.store.all[1].Versions[0].Digest = blob.Sum([]byte("nothing"))
	err := f.NoteDrift(t.Context())
	require.ErrorContains(t, err, "deployment "+string(f.store.all[1].ID))
	require.NotContains(t, err.Error(), "deployments;")
	f.store.all[2].Versions[0].Digest = blob.Sum([]byte("nothing else"))
	require.ErrorContains(t, f.NoteDrift(t.Context()), "2 deployments; the first is deployment "+string(f.store.all[1].ID))
}
