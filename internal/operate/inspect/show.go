package inspect

import "time"

// Name is the event's type without its version.
func (f Event) Name() string { return shortType(f.Type) }

// Summary describes the event in one line, without secrets.
func (f Event) Summary() string { return f.summary() }

// Duration returns m as a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }
