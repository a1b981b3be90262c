// Package deploy_test checks what is shipped beside the program.
package deploy_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Compose refuses a whole file in which a dollar sign is neither doubled nor the start of a variable.
func TestComposeFileInterpolates(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	dollars := regexp.MustCompile(`\$(\$|[_a-zA-Z][_a-zA-Z0-9]*|\{[_a-zA-Z][_a-zA-Z0-9]*(:?[-?+][^}]*)?\}|.?)`)
	good := regexp.MustCompile(`^\$(\$|[_a-zA-Z]\w*|\{.+\})$`)
	found := dollars.FindAllString(string(raw), -1)
	require.NotEmpty(t, found)
	for _, use := range found {
		require.Regexp(t, good, use)
	}
}
