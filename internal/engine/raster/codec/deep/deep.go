// Package deep reads and writes images of more than eight bits a sample: PNG files of 16 bits are written, OpenEXR files of
// scan lines are read and written. It promises that what it writes is read back bit for bit, and that memory is bounded by
// the engine. Package codec has all other formats.
package deep

import (
	"github.com/millrace-dev/millrace/internal/fault"
)

// Text is one text of a file's header.
type Text struct{ Key, Value string }

func damaged(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeImageDamaged, "the EXR file cannot be read: "+format, args...)
}
