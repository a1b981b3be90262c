package deployment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

func TestNameIsADNSLabel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "portrait", "portrait-2", "0", strings.Repeat("a", 63)} {
		require.NoError(t, deployment.CheckName(name), name)
	}
	for _, name := range []string{
		"", "Portrait", "-a", "a-", "a.b", "a b", "a/b", "porträt", "a@2", "a\x00", uuid.NewString(), strings.Repeat("a", 64),
	} {
		require.Equal(t, fault.CodeInvalidDeployment, fault.CodeOf(deployment.CheckName(name)), "%q", name)
	}
}

// given folds events as recorded one after another.
func given(events ...any) (d deployment.Deployment) {
	id := deployment.ID(uuid.NewString())
	for i, data := range events {
		d = deployment.Fold(d, eventlog.Recorded{
			Stream: id.Stream(), Version: int64(i + 1), Account: "acme", RecordedAt: time.Unix(int64(i), 0), Meta: eventlog.Meta{Actor: "ops"},
		}, data)
	}
	return d
}

func TestFold(t *testing.T) {
	t.Parallel()
	created := func(n int) []any {
		events := []any{deployment.CreatedV1{Name: "portrait", Salt: "s"}}
		for v := range n {
			events = append(events, deployment.VersionAddedV1{Version: v + 1, Digest: blob.Sum([]byte{byte(v)}).String()})
		}
		return append(events, deployment.PromotedV1{Version: 1})
	}
	for name, c := range map[string]struct {
		events []any
		want   deployment.Routing
		before []int
	}{
		"a new deployment": {nil, deployment.Routing{State: deployment.Ready, Live: 1}, nil},
		"a share": {
			[]any{deployment.SharedV1{Version: 2, Percent: 10}},
			deployment.Routing{State: deployment.Ready, Live: 1, Share: deployment.Share{Version: 2, Percent: 10}},
			nil,
		},
		"a share that ended": {
			[]any{deployment.SharedV1{Version: 2, Percent: 10}, deployment.SharedV1{}},
			deployment.Routing{State: deployment.Ready, Live: 1},
			nil,
		},
		"a promotion ends a share": {
			[]any{deployment.SharedV1{Version: 2, Percent: 10}, deployment.PromotedV1{Version: 2}},
			deployment.Routing{State: deployment.Ready, Live: 2},
			[]int{1},
		},
		"a rollback of a share": {
			[]any{deployment.PromotedV1{Version: 2}, deployment.SharedV1{Version: 3, Percent: 10}, deployment.RolledBackV1{Version: 2, From: 3}},
			deployment.Routing{State: deployment.Ready, Live: 2},
			[]int{1},
		},
		"two rollbacks": {
			[]any{
				deployment.PromotedV1{Version: 2},
				deployment.PromotedV1{Version: 3},
				deployment.RolledBackV1{Version: 2, From: 3},
				deployment.RolledBackV1{Version: 1, From: 2},
			},
			deployment.Routing{State: deployment.Ready, Live: 1},
			[]int{},
		},
		"stopped":             {[]any{deployment.StoppedV1{}}, deployment.Routing{State: deployment.Stopped, Live: 1}, nil},
		"started":             {[]any{deployment.StoppedV1{}, deployment.StartedV1{}}, deployment.Routing{State: deployment.Ready, Live: 1}, nil},
		"deleted":             {[]any{deployment.DeletedV1{}}, deployment.Routing{State: deployment.Deleted, Live: 1}, nil},
		"an unknown event":    {[]any{nil}, deployment.Routing{State: deployment.Ready, Live: 1}, nil},
		"a drift of no event": {[]any{deployment.DriftedV1{Version: 9}}, deployment.Routing{State: deployment.Ready, Live: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := given(append(created(3), c.events...)...)
			c.want.Salt = "s"
			require.Equal(t, c.want, d.Routing)
			require.Equal(t, c.before, d.Before)
			require.Len(t, d.Versions, 3)
			require.Equal(t, "ops", d.Versions[2].Actor)
			require.Equal(t, time.Unix(3, 0).UTC(), d.Versions[2].AddedAt)
			require.EqualValues(t, 5+len(c.events), d.Revision)
			require.Equal(t, d, deployment.Fold(d, eventlog.Recorded{Version: d.Revision}, deployment.StoppedV1{}), "a repeated event")
		})
	}
}

// A share of 10 percent answers 10 percent of the keys, the same ones each time, and the same ones when it grows.
func TestShareIsStickyAndFair(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	for _, salt := range []string{"a", "b", uuid.NewString()} {
		r := deployment.Routing{State: deployment.Ready, Live: 1, Share: deployment.Share{Version: 2, Percent: 10}, Salt: salt}
		grown := r
		grown.Share.Percent = 40
		shared := 0
		for i := range keys {
			key := fmt.Sprint(i)
			version := r.Of(key)
			require.Equal(t, version, r.Of(key))
			if version == 2 {
				shared++
				require.Equal(t, 2, grown.Of(key))
			}
		}
		require.InDelta(t, 0.10, float64(shared)/keys, 0.01)
	}
}

func TestAReferenceNamesADeploymentAndPerhapsAVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"portrait": 0, "portrait@1": 1, "portrait@20": 20} {
		name, version, err := deployment.Reference(text)
		require.NoError(t, err, text)
		require.Equal(t, "portrait", name)
		require.Equal(t, want, version, text)
	}
	for _, bad := range []string{"portrait@", "portrait@0", "portrait@-1", "portrait@+1", "portrait@01", "portrait@two", "portrait@1@2"} {
		_, _, err := deployment.Reference(bad)
		require.True(t, fault.Is(err, fault.Invalid), bad)
	}
}
