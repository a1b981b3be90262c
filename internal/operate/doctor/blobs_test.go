package doctor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// withRules is a store in a bucket with lifecycle rules.
type withRules struct {
	blob.Store
	harmful []string
	err     error
}

func (s withRules) Harmful(context.Context) ([]string, error) { return s.harmful, s.err }

func TestDoctorNamesRulesThatExpireFiles(t *testing.T) {
	t.Parallel()
	store := mem.New()
	for name, tc := range map[string]struct {
		store          blob.Store
		status, detail string
	}{
		"on disk":         {store, "ok", "data directory"},
		"no harm":         {withRules{store, nil, nil}, "ok", "no lifecycle rule"},
		"a rule":          {withRules{store, []string{`rule "tidy" expires objects below ""`}, nil}, "fail", `rule "tidy" expires`},
		"may not be read": {withRules{store, nil, errors.New("Access Denied")}, "ok", "not checked: Access Denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := doctor.DatabaseChecks(nil, func(context.Context) (blob.Store, error) { return tc.store, nil })
			for _, c := range checks {
				if c.Name != "bucket rules" {
					continue
				}
				f, err := c.Examine(t.Context())
				require.NoError(t, err)
				require.Equal(t, tc.status, f.Status)
				require.Contains(t, f.Detail, tc.detail)
				require.Equal(t, f.Status != "ok", f.Remedy != "")
				return
			}
			t.Fatal("there is no such check")
		})
	}
}

// hung is a store in a bucket that does not answer.
type hung struct{ blob.Store }

func (hung) Harmful(ctx context.Context) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hung) Walk(ctx context.Context, _ func(blob.Entry) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestABucketThatDoesNotAnswerIsNotWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := doctor.DatabaseChecks(nil, func(context.Context) (blob.Store, error) { return hung{mem.New()}, nil })
		for _, c := range checks[len(checks)-2:] { // of unreferenced files, and of rules
			found := doctor.RunChecks(t.Context(), []doctor.Check{c})[0]
			require.Equal(t, "fail no answer within 5s", found.Status+" "+found.Detail, found.Check)
		}
	})
}
