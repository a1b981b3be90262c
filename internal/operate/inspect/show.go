package inspect

import "time"

// Name is the fact's type without its version.
func (f Fact) Name() string { return shortType(f.Type) }

// Summary says in one line what the fact holds, without secrets.
func (f Fact) Summary() string { return f.summary() }

// Duration returns m as Go has it.
func (m Millis) Duration() time.Duration { return time.Duration(m) }
