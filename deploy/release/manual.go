package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

// completions are the paths at which the completions of each shell are installed. Those of zsh are in directories that
// zsh reads by default.
var completions = []struct{ shell, deb, rpm string }{
	{"bash", "/usr/share/bash-completion/completions/millrace", "/usr/share/bash-completion/completions/millrace"},
	{"zsh", "/usr/share/zsh/vendor-completions/_millrace", "/usr/share/zsh/site-functions/_millrace"},
	{"fish", "/usr/share/fish/vendor_completions.d/millrace.fish", "/usr/share/fish/vendor_completions.d/millrace.fish"},
}

// manual is the directory of the pages of the manual, NAME.1, and of the completions, by shell.
func (r Release) manual() string { return filepath.Join(r.Out, "build", "manual") }

// writeManual builds the program for this machine and lets it write its manual and completions.
func (r Release) writeManual() error {
	p := r.Programs[0]
	tool := filepath.Join(r.Out, "build", "manual-"+p.Name)
	if err := r.build(Target{runtime.GOOS, runtime.GOARCH}, p, tool); err != nil { // the target's build is the same
		return fmt.Errorf("for the manual: %w", err)
	}
	ask := func(args ...string) *exec.Cmd {
		cmd := exec.Command(tool, args...)
		cmd.Env, cmd.Stderr = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.Time.Unix(), 10)), os.Stderr
		return cmd
	}
	if err := ask("man", r.manual()).Run(); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	for _, c := range completions {
		if err := toFile(ask("completion", c.shell), filepath.Join(r.manual(), c.shell)); err != nil {
			return fmt.Errorf("write the completions of %s: %w", c.shell, err)
		}
	}
	return nil
}

// toFile runs a command, whose standard output becomes a file.
func toFile(cmd *exec.Cmd, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	cmd.Stdout = f
	return errors.Join(cmd.Run(), f.Close())
}
