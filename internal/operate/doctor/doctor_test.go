package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/operate/doctor"
)

// run runs checks that change nothing, and returns the status and the detail of each check that ran.
func run(ctx context.Context, looks ...func(context.Context) error) []string {
	checks := make([]doctor.Check, len(looks))
	for i, look := range looks {
		checks[i] = doctor.Check{Name: fmt.Sprint(i), Remedy: "mend it", Examine: func(ctx context.Context) (doctor.Finding, error) {
			return doctor.Finding{Status: doctor.Healthy, Detail: "well"}, look(ctx)
		}}
	}
	var found []string
	for _, f := range doctor.RunChecks(ctx, checks) {
		found = append(found, f.Status+" "+f.Detail)
	}
	return found
}

// The doctor answers in bounded time over HTTP. Checks whose prerequisite fails are skipped. A check that gives no answer, even after its
// time, is reported as such, and hides no other.
func TestDoctorDoesNotWaitForUnavailableServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		well := func(context.Context) error { return nil }
		away := func(context.Context) error { return errors.New("no route") }
		silent := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		mounted := make(chan struct{})
		defer close(mounted)
		stuck := func(context.Context) error {
			<-mounted
			return nil
		}
		require.Equal(t, []string{"fail no route"}, run(t.Context(), away, silent, silent))
		require.Equal(t, []string{"ok well", "fail no route", "ok well"}, run(t.Context(), well, away, well))
		const late = "fail no answer within 5s"
		require.Equal(t, []string{"ok well", late, late, "ok well"}, run(t.Context(), well, stuck, silent, well))
		over, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		require.Equal(t, []string{"ok well", late, late}, run(over, well, silent, silent))
	})
}
