package export_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
)

// bounded is a store of exports with the space that an account has left.
type bounded struct {
	export.Store
	space int64
	made  []export.RequestedV1
}

func (s *bounded) Create(_ context.Context, _ string, id task.ID, r export.RequestedV1, _ string) (export.Export, error) {
	s.made = append(s.made, r)
	return export.Export{ID: id, Requested: r}, nil
}

func (s *bounded) Fits(_ context.Context, _ string, bytes int64) error {
	if bytes > s.space {
		return fault.New(fault.Exhausted, fault.CodeStorageQuotaExceeded, "too much")
	}
	return nil
}

// An export is recorded with what it will contain, or refused as a whole before anything is recorded.
func TestAnExportIsRecordedOrRefused(t *testing.T) {
	t.Parallel()
	one := export.Request{Assets: []asset.PublicID{asset.PublicID(uuid.NewString())}}
	for name, c := range map[string]struct {
		request export.Request
		space   int64
		code    fault.Code
	}{
		"one file":                  {one, 10, ""},
		"more than the account may": {one, 9, fault.CodeStorageQuotaExceeded},
		"no ids":                    {export.Request{}, 10, fault.CodeInvalidRequest},
		"no file":                   {export.Request{Jobs: []job.PublicID{job.PublicID(uuid.NewString())}}, 10, fault.CodeNothingToExport},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &bounded{space: c.space}
			s := export.Service{
				Store: store, Storage: store, Now: func() time.Time { return noon },
				Chooser: export.Chooser{Jobs: archive{}, Files: archive{}, Shelf: archive{}},
			}
			made, err := s.Create(t.Context(), "a", c.request, "r")
			require.Equal(t, c.code, fault.CodeOf(err))
			if c.code != "" {
				require.Error(t, err)
				require.Empty(t, store.made)
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 10, made.Requested.Bytes)
			require.Equal(t, 1, made.Requested.Files)
		})
	}
}
