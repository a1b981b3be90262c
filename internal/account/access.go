package account

import (
	"regexp"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Access is what an account may use of the model router. The zero value is everything.
type Access struct {
	Off    bool     // the router is not switched on for the account
	Models []string // "<provider>/<model>" or "<provider>/*"; nil = every model, empty = none
}

// Allows reports whether the account may see and run the model of that id.
func (a Access) Allows(model string) bool {
	if a.Models == nil {
		return true
	}
	provider, _, _ := strings.Cut(model, "/")
	return slices.ContainsFunc(a.Models, func(pattern string) bool { return pattern == model || pattern == provider+"/*" })
}

// modelPattern is a canonical model id, or all models of a provider.
var modelPattern = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*/(\*|[a-z0-9]+([._-][a-z0-9]+)*)$`)

// maxModels and maxPattern bound what an account's list says.
const (
	maxModels  = 1000
	maxPattern = 193
)

func checkModels(patterns []string) error {
	if len(patterns) > maxModels {
		return fault.New(fault.Invalid, "invalid_request", "a list of models has at most %d entries", maxModels)
	}
	for _, p := range patterns {
		if len(p) > maxPattern || !modelPattern.MatchString(p) {
			return fault.New(fault.Invalid, "invalid_request", "%q is neither a model such as bfl/flux-2-pro nor all of a provider such as bfl/*", p)
		}
	}
	return nil
}
