package committer

import (
	"context"
	"errors"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// Jointly does works in one transaction and returns the outcome of each. do is that transaction, in full: it returns the
// outcome of each of its works if it commits. Otherwise nothing is committed, and do returns an error and, for each work that
// caused it, the error of that work. Jointly then does the other works in one transaction, and each work that failed in one
// of its own, so that the outcome of a work does not depend on the works that it was joined with.
func Jointly[W any](works []W, do func([]W) (own []error, err error)) []error {
	own, err := do(works)
	switch {
	case err == nil:
		return own
	case len(works) == 1 || !separable(err):
		return repeated(err, len(works))
	}
	failed, rest := split(own)
	if len(failed) == 0 { // it is not known whose failure it is
		failed, rest = rest, nil
	}
	outcomes := make([]error, len(works))
	if len(rest) > 0 {
		for i, err := range Jointly(pick(works, rest), do) {
			outcomes[rest[i]] = err
		}
	}
	for _, i := range failed {
		outcomes[i] = Jointly(works[i:i+1], do)[0]
	}
	return outcomes
}

func repeated(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// split returns the places of the works that failed by themselves, and of the others.
func split(own []error) (failed, rest []int) {
	for i, err := range own {
		if err != nil {
			failed = append(failed, i)
		} else {
			rest = append(rest, i)
		}
	}
	return failed, rest
}

func pick[W any](works []W, places []int) []W {
	picked := make([]W, len(places))
	for i, place := range places {
		picked[i] = works[place]
	}
	return picked
}

// separable reports whether a transaction that failed with err, and is rolled back, may succeed for some of its works.
func separable(err error) bool {
	return !postgres.IsAmbiguous(err) && !errors.Is(err, context.Canceled) && !fault.Is(postgres.Classify(err, ""), fault.Unavailable)
}
