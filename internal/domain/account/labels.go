package account

import (
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Labels are the labels of ComfyUI servers that jobs of an account may require. The zero value allows every label: a
// label only restricts where a job runs, and a job without labels runs on any server.
type Labels struct {
	Allowed []string // nil = every label, empty = none
}

// Check returns Denied for the first label that is not allowed.
func (l Labels) Check(asked []string) error {
	for _, a := range asked {
		if l.Allowed == nil || slices.Contains(l.Allowed, a) {
			continue
		}
		allowed := "it may not use labels"
		if len(l.Allowed) > 0 {
			allowed = "it may use " + strings.Join(l.Allowed, ", ")
		}
		return fault.New(fault.Denied, fault.CodeLabelNotAllowed, "this account may not use servers with the label %q: %s", a, allowed).WithDetails(map[string]any{"label": a})
	}
	return nil
}

// Equal reports whether l and m allow the same.
func (l Labels) Equal(m Labels) bool {
	return (l.Allowed == nil) == (m.Allowed == nil) && slices.Equal(l.Allowed, m.Allowed)
}

// check sorts the labels, and refuses an invalid one.
func (l *Labels) check() error {
	if l.Allowed == nil {
		return nil
	}
	parsed, err := label.Parse(l.Allowed)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
	}
	l.Allowed = parsed
	return nil
}
