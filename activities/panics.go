package activities

import (
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/job"
)

const (
	// maxPanics bounds the panics of the same work in one process: a bug does not go away, and the job must end with
	// a reason instead of being retried for ever.
	maxPanics = 5
	// countedPanics bounds the number of works whose panics are counted.
	countedPanics = 1024
)

// panicKey is the key of a panic count: the planning of a run, or the batch that starts with a unit.
type panicKey struct {
	ref  job.RunRef
	unit int // planning = -1
}

// planning is the unit of panics in the planning of a run.
const planning = -1

// panics counts the panics of this process. A restarted worker starts from zero.
type panics struct{ counts *lru.Cache[panicKey, int] }

func newPanics() *panics {
	counts, err := lru.New[panicKey, int](countedPanics)
	if err != nil {
		panic(err) // the bound is a constant
	}
	return &panics{counts}
}

// finalIfRepeated makes err final if it is a panic that has repeated too often. Other errors do not change the count.
func (p *panics) finalIfRepeated(w panicKey, err error) error {
	var bug *attempt.Panic
	if !errors.As(err, &bug) {
		return err
	}
	count, _ := p.counts.Get(w)
	p.counts.Add(w, count+1)
	if count+1 < maxPanics {
		return err
	}
	return temporal.NewNonRetryableApplicationError(bug.Error(), attempt.ErrFinal, nil)
}
