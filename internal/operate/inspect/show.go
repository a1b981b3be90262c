package inspect

import "time"

// Name is the event's type without its version.
func (f Event) Name() string { return shortType(f.Type) }

// Summary says in one line what the event holds, without secrets.
func (f Event) Summary() string { return f.summary() }

// Duration returns m as Go has it.
func (m Millis) Duration() time.Duration { return time.Duration(m) }
