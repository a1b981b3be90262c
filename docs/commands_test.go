package docs_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace-dev/millrace/internal/cli"
)

// Commands in shell examples, in the text of tutorials, and in what a terminal showed.
var exampleCommand = regexp.MustCompile("(?m)(?:^\\s*(?:\\$ )?(?:[A-Z_]+=\\S+ )*|`)(?:bin/)?millrace ([a-z][^`\n]*)")

// Every command in the documentation is one of the program, and so is every flag that is given to it.
func TestCommandsOfTheDocumentationExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	tutorials, err := filepath.Glob("tutorials/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range slices.Concat([]string{"../README.md"}, pages, tutorials) {
		for _, m := range exampleCommand.FindAllStringSubmatch(read(t, filepath.Join("docs", page)), -1) {
			found++
			checkCommand(t, page, m[1])
		}
	}
	if found < 100 {
		t.Errorf("only %d commands were found in the documentation", found)
	}
}

// checkCommand checks a command line as an example has it, up to what a shell does with it.
func checkCommand(t *testing.T, page, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " | ")
	words := strings.Fields(line)
	command, rest, err := cli.Command(io.Discard, io.Discard, os.LookupEnv).Find(words)
	if err != nil {
		t.Errorf("%s: millrace %s: %v", page, line, err)
		return
	}
	if command.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !command.Runnable() {
		t.Errorf("%s: millrace %s: there is no command %q", page, line, rest[0])
		return
	}
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		name = strings.TrimRight(name, ",.;:)")
		if isFlag && name != "" && command.Flag(name) == nil && name != "help" {
			t.Errorf("%s: millrace %s: there is no flag --%s", page, line, name)
		}
	}
}
