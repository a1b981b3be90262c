package activities

import (
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/comfyui/driving"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	// maxPanics bounds the panics of the same work in one process: a bug does not go away, and the job must end with
	// a reason instead of being retried for ever.
	maxPanics = 5
	// maxUnclassified and unclassifiedFor bound the attempts of the same work in one process that end with an unclassified error. Such
	// an error may be an outage of an unknown kind, so the work is given up only after both: a day is enough to find the cause.
	maxUnclassified = 20
	unclassifiedFor = 24 * time.Hour
	// countedWorks bounds the number of works whose errors are counted.
	countedWorks = 16_384
)

// work is the planning of a run, or the batch that starts with a unit.
type work struct {
	ref  job.RunRef
	unit int // planning = -1
}

// planning is the unit of a run that is planned.
const planning = -1

// repeats counts the attempts of this process that ended with an error of the program itself. A restarted worker starts from zero.
type repeats struct {
	counts          *lru.Cache[work, repeat]
	unclassifiedFor time.Duration
}

// repeat counts the attempts of one work.
type repeat struct {
	panics       int
	unclassified int
	since        time.Time // of the first attempt with an unclassified error
}

func newRepeats() *repeats {
	counts, err := lru.New[work, repeat](countedWorks)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return &repeats{counts: counts, unclassifiedFor: unclassifiedFor}
}

// finalIfRepeated makes err final if it is a panic or an unclassified error that has repeated too often. A success and an outage
// reset the count, because what repeats has another cause then. A wait for a slot changes nothing.
func (r *repeats) finalIfRepeated(w work, err error) error {
	var bug *attempt.Panic
	count, _ := r.counts.Get(w)
	switch {
	case err == nil || attempt.IsOutage(err):
		r.counts.Remove(w)
		return err
	case errors.As(err, &bug):
		if count.panics++; count.panics >= maxPanics {
			return temporal.NewNonRetryableApplicationError(bug.Error(), attempt.ErrFinal, nil)
		}
	case isUnclassified(err):
		if count.unclassified++; count.unclassified == 1 {
			count.since = time.Now()
		}
		if lasted := time.Since(count.since); count.unclassified >= maxUnclassified && lasted >= r.unclassifiedFor {
			return temporal.NewNonRetryableApplicationError(
				fmt.Sprintf("given up after %d attempts in %s", count.unclassified, lasted.Round(time.Second)), attempt.ErrGivenUp, err)
		}
	default:
		return err
	}
	r.counts.Add(w, count)
	return err
}

// isUnclassified reports whether nobody knows what an error of an attempt means.
func isUnclassified(err error) bool {
	var app *temporal.ApplicationError
	handedOver := errors.Is(err, driving.ErrHandedOver) || errors.Is(err, job.ErrOvertaken)
	return err != nil && fault.KindOf(err) == fault.Internal && !errors.As(err, &app) && !handedOver
}
