package deployment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// A state that was read does not change when events follow it, and a rollback returns to a hundred versions at most.
func TestAStateThatWasReadDoesNotChange(t *testing.T) {
	t.Parallel()
	events := []any{deployment.CreatedV1{Name: "portrait", Salt: "s"}}
	for v := range 3 {
		events = append(events, deployment.VersionAddedV1{Version: v + 1, Digest: blob.Sum([]byte{byte(v)}).String()})
	}
	events = append(events, deployment.PromotedV1{Version: 1}, deployment.PromotedV1{Version: 2}, deployment.PromotedV1{Version: 3})
	before, same := given(events...), given(events...)
	before.ID, same.ID = "", ""
	rec := eventlog.Recorded{Version: before.Revision + 1, Meta: eventlog.Meta{Reason: "because"}, RecordedAt: time.Unix(99, 0)}
	for _, e := range []any{
		deployment.DriftedV1{Version: 1, Classes: []string{"A"}},
		deployment.RolledBackV1{Version: 2, From: 3},
		deployment.PromotedV1{Version: 1},
		deployment.VersionAddedV1{Version: 4},
		deployment.SharedV1{Version: 1, Percent: 5},
	} {
		after := deployment.Fold(before, rec, e)
		require.Equal(t, same, before, "%T", e)
		require.Equal(t, []any{"because", time.Unix(99, 0).UTC(), rec.Version}, []any{after.Reason, after.UpdatedAt, after.Revision})
		require.Equal(t, before.CreatedAt, after.CreatedAt)
	}
	drifted := deployment.Fold(before, rec, deployment.DriftedV1{Version: 2, Classes: []string{"A"}})
	for i, want := range [][]string{nil, {"A"}, nil} {
		require.Equal(t, want, drifted.Versions[i].Drifted, i)
	}
	for range 60 {
		events = append(events, deployment.PromotedV1{Version: 1}, deployment.PromotedV1{Version: 2})
	}
	many := given(events...)
	require.Len(t, many.Before, 100)
	require.Equal(t, []int{2, 1}, []int{many.Before[98], many.Before[99]})
	for _, version := range []int{1, 2} {
		require.Equal(t, []int{1, 2, 3}, deployment.Fold(before, rec, deployment.PromotedV1{Version: version}).Before)
	}
}

// A version is found by its number or by its content.
func TestAVersionIsFoundByItsNumberOrItsContent(t *testing.T) {
	t.Parallel()
	d := deployment.Deployment{Versions: []deployment.Version{
		{Number: 1, Digest: blob.Sum([]byte("a"))}, {Number: 2, Digest: blob.Sum([]byte("b"))},
	}}
	for number, there := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3: false} {
		v, ok := d.Version(number)
		require.Equal(t, there, ok, number)
		require.Equal(t, there, v.Number == number && number > 0)
	}
	v, ok := d.WithDigest(blob.Sum([]byte("a")))
	require.True(t, ok)
	require.Equal(t, 1, v.Number)
	v, ok = d.WithDigest(blob.Sum([]byte("c")))
	require.False(t, ok)
	require.Zero(t, v)
	for state, code := range map[deployment.State]fault.Code{
		deployment.Ready: "", deployment.Stopped: fault.CodeDeploymentStopped, deployment.Deleted: fault.CodeDeploymentNotFound,
		"": fault.CodeDeploymentNotFound,
	} {
		require.Equal(t, code, fault.CodeOf(deployment.Routing{State: state}.Refusal("x")), state)
	}
	require.Equal(t, 7, deployment.Routing{Live: 7}.Of("k"))
	of, ok := deployment.IDOfStream("deployment-0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d")
	require.Equal(t, []any{deployment.ID("0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d"), true}, []any{of, ok})
}

// The same key gets the same version in every process.
func TestTheChoiceOfAKeyNeverChanges(t *testing.T) {
	t.Parallel()
	r := deployment.Routing{Live: 1, Share: deployment.Share{Version: 2, Percent: 40}, Salt: "s"}
	var chosen strings.Builder
	for i := range 40 {
		fmt.Fprint(&chosen, r.Of(fmt.Sprint(i)))
	}
	require.Equal(t, "1111121221111222111111221211111121111111", chosen.String())
}

// The state of a deployment has what its events say, and when and by whom they were recorded.
func TestTheStateOfADeploymentHasWhatItsEventsSay(t *testing.T) {
	t.Parallel()
	const id = deployment.ID("0b9f3f2c-6a55-4f3e-9d8e-3f1c5a6b7c8d")
	at := func(version int) time.Time { return time.Unix(int64(version), 0).UTC() }
	a, b := blob.Sum([]byte("a")), blob.Sum([]byte("b"))
	var d deployment.Deployment
	for i, e := range []any{
		deployment.CreatedV1{Name: "portrait", Salt: "s"},
		deployment.VersionAddedV1{Version: 1, Digest: a.String()},
		deployment.PromotedV1{Version: 1},
		deployment.VersionAddedV1{Version: 2, Digest: b.String()},
		deployment.PromotedV1{Version: 2},
		deployment.SharedV1{Version: 1, Percent: 5},
		deployment.DriftedV1{Version: 2, Classes: []string{"A"}},
		deployment.StoppedV1{},
	} {
		d = deployment.Fold(d, eventlog.Recorded{
			Stream: id.Stream(), Version: int64(i + 1), Account: "acme", RecordedAt: at(i + 1).In(time.FixedZone("", 3600)),
			Meta: eventlog.Meta{Actor: fmt.Sprint("actor ", i+1), Reason: fmt.Sprint("reason ", i+1)},
		}, e)
	}
	require.Equal(t, deployment.Deployment{
		Routing: deployment.Routing{State: deployment.Stopped, Live: 2, Share: deployment.Share{Version: 1, Percent: 5}, Salt: "s"},
		ID:      id, Account: "acme", Name: "portrait", Revision: 8, Before: []int{1}, Reason: "reason 8", CreatedAt: at(1), UpdatedAt: at(8),
		Versions: []deployment.Version{
			{Number: 1, Digest: a, AddedAt: at(2), Actor: "actor 2"},
			{Number: 2, Digest: b, AddedAt: at(4), Actor: "actor 4", Drifted: []string{"A"}},
		},
	}, d)
}
