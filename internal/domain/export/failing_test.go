package export_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
)

// unsteady is an archive and its store, of which one call fails.
type unsteady struct {
	archive
	faulttest.Calls
	made  []export.RequestedV1
	found export.Export
}

func (u *unsteady) ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error) {
	return faulttest.Try(&u.Calls, "job", func() (job.Job, error) {
		j, err := u.archive.ByPublicID(ctx, account, "j1")
		j.ID = job.ID(id)
		return j, err
	})
}

func (u *unsteady) Known(ctx context.Context, account string, ids []asset.PublicID) (map[asset.PublicID]files.Entry, error) {
	return faulttest.Try(&u.Calls, "files", func() (map[asset.PublicID]files.Entry, error) { return u.archive.Known(ctx, account, ids) })
}

func (u *unsteady) Several(ctx context.Context, account string, ids []asset.ID) (map[asset.ID]asset.Asset, error) {
	return faulttest.Try(&u.Calls, "names", func() (map[asset.ID]asset.Asset, error) { return u.archive.Several(ctx, account, ids) })
}

func (u *unsteady) Fits(context.Context, string, int64) error {
	return u.Do("space", func() error { return nil })
}

func (u *unsteady) Create(_ context.Context, _ string, id task.ID, r export.RequestedV1, _ string) (export.Export, error) {
	return faulttest.Try(&u.Calls, "record", func() (export.Export, error) {
		u.made = append(u.made, r)
		return export.Export{ID: id, Requested: r}, nil
	})
}

func (u *unsteady) Get(_ context.Context, _ string, id task.ID) (export.Export, error) {
	return faulttest.Try(&u.Calls, "get", func() (export.Export, error) { e := u.found; e.ID = id; return e, nil })
}

func (u *unsteady) service() export.Service {
	return export.Service{Store: u, Storage: u, Now: func() time.Time { return noon }, Chooser: export.Chooser{Jobs: u, Files: u, Shelf: u}}
}

// Whichever step of a request fails, nothing is recorded, and the error is that of the step.
func TestEachStepOfARequestMayFail(t *testing.T) {
	t.Parallel()
	of := job.PublicID(uuid.NewString())
	steps := []string{"job", "files", "names", "space", "record"}
	for step := range len(steps) + 1 {
		u := &unsteady{Calls: faulttest.Calls{Fail: step}}
		got, err := u.service().Create(t.Context(), "acme", export.Request{Jobs: []job.PublicID{of}}, "r")
		if step == 0 {
			require.NoError(t, err)
			require.Equal(t, steps, u.Made())
			require.Equal(t, []export.RequestedV1{got.Requested}, u.made)
			require.Equal(t, export.RequestedV1{
				Name: "export-20260304-120000-" + string(got.ID) + ".zip", Files: 2, Bytes: 10,
				Request: export.Request{Jobs: []job.PublicID{of}, Assets: []asset.PublicID{}, Naming: export.ByJobTime},
			}, got.Requested)
			continue
		}
		require.ErrorIs(t, err, faulttest.ErrAway)
		require.Equal(t, steps[:step], u.Made())
		require.Empty(t, u.made)
		require.Zero(t, got)
	}
	s := (&unsteady{}).service()
	s.Storage, s.Now = nil, nil
	got, err := s.Create(t.Context(), "acme", export.Request{Jobs: []job.PublicID{of}}, "r")
	require.NoError(t, err, "without limits")
	require.Contains(t, got.Requested.Name, "export-"+time.Now().UTC().Format("2006"))
}

// An export is found by the exact name of its archive.
func TestAnExportIsFoundByItsExactName(t *testing.T) {
	t.Parallel()
	id := task.NewID()
	name := "export-20260304-120000-" + string(id) + ".zip"
	u := &unsteady{found: export.Export{Requested: export.RequestedV1{Name: name}}}
	s := u.service()
	got, err := s.Named(t.Context(), "acme", name)
	require.NoError(t, err)
	require.Equal(t, id, got.ID)
	_, err = s.Named(t.Context(), "acme", strings.Replace(name, "120000", "120001", 1))
	require.Equal(t, fault.CodeNotFound, fault.CodeOf(err))
	u.Reset(0)
	_, err = s.Named(t.Context(), "acme", "export.zip")
	require.Equal(t, fault.CodeNotFound, fault.CodeOf(err))
	require.Empty(t, u.Made())
	u.Reset(1)
	_, err = s.Named(t.Context(), "acme", name)
	require.ErrorIs(t, err, faulttest.ErrAway)
	u.Reset(1)
	_, err = s.Get(t.Context(), "acme", id)
	require.ErrorIs(t, err, faulttest.ErrAway)
	got, err = s.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, id, got.ID)
}

// A chosen file has what its asset, its name on the shelf and its job say.
func TestAChosenFileHasWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	made := asset.Asset{ID: "temp", Name: "Holiday", Producer: &asset.Producer{Job: "j9"}}
	entry := func(id string) export.Entry {
		return export.Entry{
			Asset: asset.ID(id), Public: asset.PublicID(id), Size: 10, Dir: "sub", Name: id + ".png", Filename: id + ".png",
		}
	}
	ofJob := func(id string) export.Entry {
		e := entry(id)
		e.Job, e.JobTime = "j1", noon
		return e
	}
	temp := ofJob("temp")
	temp.Name, temp.Preview = "Holiday", true
	alone := entry("temp")
	alone.Name, alone.Job = "Holiday", "j9"
	for _, c := range []struct {
		request export.Request
		want    export.Choice
	}{
		{export.Request{Jobs: []job.PublicID{"j1", "j2"}, Previews: true, Assets: []asset.PublicID{"gone", "other", "temp"}}, export.Choice{
			Entries: []export.Entry{ofJob("saved"), temp, entry("other")}, Bytes: 30,
			Missing: []export.Missing{
				{Job: "j2", Error: "not_found"}, {Asset: "rejected", Job: "j1", Error: "not_found"}, {Asset: "gone", Error: "not_found"},
			},
		}},
		{export.Request{Assets: []asset.PublicID{"temp"}}, export.Choice{Entries: []export.Entry{alone}, Bytes: 10}},
	} {
		_, choice, err := chosen(t, archive{map[asset.ID]asset.Asset{"temp": made}}, export.Limits{}, c.request)
		require.NoError(t, err)
		require.Equal(t, c.want, choice)
	}
}
