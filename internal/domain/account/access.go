package account

import (
	"regexp"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/label"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Access is an account's access to the model router. The zero value allows everything.
type Access struct {
	Off    bool     // the account may not use the router
	Models []string // "<provider>/<model>" or "<provider>/*"; nil = every model, empty = none
	Denied []string // exceptions from Models, in the same form
}

// Allows reports whether the account may see and run the model of that id.
func (a Access) Allows(model string) bool {
	return !matches(a.Denied, model) && (a.Models == nil || matches(a.Models, model))
}

func matches(patterns []string, model string) bool {
	provider, rest, _ := strings.Cut(model, "/")
	name, _, _ := strings.Cut(rest, "/") // a variant has the access of its model
	return slices.ContainsFunc(patterns, func(p string) bool { return p == provider+"/"+name || p == provider+"/*" })
}

// Equal reports whether a and b allow the same.
func (a Access) Equal(b Access) bool {
	return a.Off == b.Off && (a.Models == nil) == (b.Models == nil) && slices.Equal(a.Models, b.Models) && slices.Equal(a.Denied, b.Denied)
}

// modelPattern matches a canonical model id, or all models of a provider.
var modelPattern = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*/(\*|[a-z0-9]+([._-][a-z0-9]+)*)$`)

// maxModels and maxPattern bound the list of an account.
const (
	maxModels  = 1000
	maxPattern = 193
)

// check refuses a list that is too long or has an entry that is not a model pattern.
func (a Access) check() error {
	if err := checkModels(a.Models); err != nil {
		return err
	}
	return checkModels(a.Denied)
}

func checkModels(patterns []string) error {
	if len(patterns) > maxModels {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a list of models may have at most %d entries", maxModels)
	}
	for _, p := range patterns {
		if len(p) > maxPattern || !modelPattern.MatchString(p) {
			return fault.New(fault.Invalid, fault.CodeInvalidRequest,
				"%q must be a model such as bfl/flux-2-pro, or all models of a provider such as bfl/*", p)
		}
	}
	return nil
}

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
		return fault.New(fault.Denied, fault.CodeLabelNotAllowed, "this account may not use servers with the label %q: %s", a,
			allowed).WithDetails(map[string]any{"label": a})
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
