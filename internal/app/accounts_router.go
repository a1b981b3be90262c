package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/account"
)

// routerAccess are the flags that say what an account may use of the model router.
type routerAccess struct {
	enabled bool
	models  []string
}

func (r *routerAccess) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.enabled, "router", true, "the account may use the model router; --router=false switches it off")
	cmd.Flags().StringSliceVar(&r.models, "models", nil, "models that the account may see and run: PROVIDER/MODEL, PROVIDER/*; all = every model, none = none")
}

// change returns the access that the given flags ask for, nil when none was given.
func (r *routerAccess) change(cmd *cobra.Command, now account.Access) *account.Access {
	if !cmd.Flags().Changed("router") && !cmd.Flags().Changed("models") {
		return nil
	}
	if cmd.Flags().Changed("router") {
		now.Off = !r.enabled
	}
	if cmd.Flags().Changed("models") {
		now.Models = append([]string{}, r.models...)
		switch strings.Join(r.models, ",") {
		case "all":
			now.Models = nil
		case "none":
			now.Models = []string{}
		}
	}
	return &now
}

// modelsOf says in words what an account may use, "" for everything.
func modelsOf(a account.Access) string {
	switch {
	case a.Off:
		return ", router off"
	case a.Models == nil:
		return ""
	case len(a.Models) == 0:
		return ", no models"
	}
	return ", models " + strings.Join(a.Models, " ")
}
