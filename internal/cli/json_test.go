package cli_test

import (
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/cli"
)

// withoutJSON are the commands that answer with no data: programs that run until they are ended, and those that write files or progress.
var withoutJSON = []string{
	"millrace dev", "millrace serve", "millrace sim comfyui", "millrace migrate", "millrace histories export", "millrace man",
	"millrace models check",
}

func TestEveryCommandThatAnswersHasJSON(t *testing.T) {
	t.Parallel()
	root := cli.Command(io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	var without []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.HasSubCommands() && cmd.Flags().Lookup("json") == nil {
			without = append(without, cmd.CommandPath())
		}
	}
	walk(root)
	slices.Sort(without)
	want := slices.Sorted(slices.Values(withoutJSON))
	require.Equal(t, want, without)
}

func TestEveryCommandIsInASection(t *testing.T) {
	t.Parallel()
	root := cli.Command(io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	for _, cmd := range root.Commands() {
		if cmd.Name() != "version" {
			require.NotEmpty(t, cmd.GroupID, cmd.Name())
		}
	}
}
