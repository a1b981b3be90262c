package deploy_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

var update = flag.Bool("update", false, "write what is generated")

// containerOwn are settings that the containers fix: roles and addresses by flags, the directory by the image.
var containerOwn = []string{"MILLRACE_ROLES", "MILLRACE_ADDR", "MILLRACE_INTERNAL_ADDR", "MILLRACE_ADVERTISE_URL", "MILLRACE_DATA"}

// settings is the one list of what an operator may set on a container: the settings of the configuration, the variables
// of the catalog's models, and the files of secrets.
func settings(t *testing.T) []string {
	t.Helper()
	models, err := catalog.Load(catalog.Options{})
	require.NoError(t, err)
	credentials := models.Snapshot().Variables()
	require.Contains(t, credentials, "OPENAI_API_KEY")
	all := slices.Concat(config.Variables(), credentials)
	for _, name := range slices.Concat(config.Secrets(), credentials) {
		all = append(all, name+config.FileSuffix)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return slices.Contains(containerOwn, name) })
}
