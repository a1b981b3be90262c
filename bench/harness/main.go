package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

// ErrMissed reports that a target was not reached, after the measurements were printed.
var ErrMissed = errors.New("a target was missed")

// Main runs a benchmark until it ends or is interrupted, and ends the program. The exit status is 1 if the measurement
// failed, and 2 if a target was missed.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	switch {
	case errors.Is(err, ErrMissed):
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench/%s: %v\n", name, err)
		os.Exit(1)
	}
}
