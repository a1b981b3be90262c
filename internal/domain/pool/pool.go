// Package pool decides when machines with ComfyUI servers are started and stopped. Its promises: no machine runs without a need, none is
// stopped while it works, none is forgotten, and there are never more than the maximum or the budget allow. It only decides: package
// machines carries it out, and package poolstore stores the rows.
package pool

import (
	"regexp"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Spec describes a pool.
type Spec struct {
	Terms
	Provider
}

// Terms are the parts of a Spec that events contain.
type Terms struct {
	Min     int           `json:"min"`
	Max     int           `json:"max"`
	Idle    time.Duration `json:"idle"`                    // a machine without work is stopped after this time
	Wait    time.Duration `json:"wait"`                    // a segment that busy servers could run needs another machine after this time
	Join    time.Duration `json:"join"`                    // a machine must have registered itself within this time
	Budget  int64         `json:"budget_micros,omitempty"` // of a day in UTC, in USD millionths; 0 = none
	Price   int64         `json:"price_micros,omitempty"`  // of an hour of a machine, in USD millionths
	Labels  []string      `json:"labels,omitempty"`
	Hosts   []string      `json:"hosts,omitempty"`   // that its machines may register; empty = the machine that sends the request
	Prompts int           `json:"prompts,omitempty"` // a machine is replaced after so many segments; 0 = never
	Memory  int           `json:"memory,omitempty"`  // and when more than this percentage of its memory is in use; 0 = never
}

// Stream returns the name of the stream of events of a pool and its machines.
func Stream(name string) string { return "pool-" + name }

// WorkflowID returns the id of the workflow of a pool.
func WorkflowID(name string) string { return "pool-" + name }

var (
	names    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	machines = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
)

// IsMachine reports whether a text may be the id of a machine, and so a word of a command.
func IsMachine(text string) bool { return machines.MatchString(text) }

// Bounds of a Spec.
const (
	maxMachines = 100
	minTime     = time.Second
	maxTime     = 24 * time.Hour
)

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeInvalidPool, format, args...)
}

// CheckName returns an error if a pool cannot have this name.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return invalid("pool: the name must have at most 40 characters: a-z, 0-9 and -, with a letter first")
	}
	return nil
}

// Check completes a description, or refuses it. An error names the key.
func (s *Spec) Check() (err error) {
	if err := s.Provider.check(); err != nil {
		return err
	}
	if s.Max < 1 || s.Max > maxMachines {
		return invalid("max: a number from 1 to %d is needed", maxMachines)
	}
	if s.Min < 0 || s.Min > s.Max {
		return invalid("min: a number from 0 to max is needed")
	}
	for _, d := range []struct {
		key     string
		value   *time.Duration
		usually time.Duration
	}{{"idle", &s.Idle, 3 * time.Minute}, {"wait", &s.Wait, 20 * time.Second}, {"join", &s.Join, 10 * time.Minute}} {
		if *d.value == 0 {
			*d.value = d.usually
		}
		if *d.value < minTime || *d.value > maxTime {
			return invalid("%s: a time from %s to %s is needed, such as %s", d.key, minTime, maxTime, d.usually)
		}
	}
	if s.Price < 0 || s.Price > 1000*amount.Dollar || s.Budget < 0 || s.Budget > 0 && s.Price == 0 {
		return invalid("price: a budget needs a price, such as 0.69 USD/hour, of at most 1000")
	}
	if s.Prompts < 0 || s.Memory < 0 || s.Memory > 100 {
		return invalid("recycle: prompts must be a number and memory a share such as 90%%")
	}
	if s.Labels, err = label.Parse(s.Labels); err != nil {
		return invalid("labels: %s", err.Error())
	}
	if s.Hosts, err = server.ParseHosts(s.Hosts); err != nil {
		return invalid("hosts: %s", err.Error())
	}
	if s.Of() == Process && len(s.Hosts) > 0 {
		return invalid("hosts: a pool of the kind %s has no such key", s.Of())
	}
	return nil
}
