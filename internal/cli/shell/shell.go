// Package shell holds the parts that all commands share: the configuration, the output, and the servers of the
// deployment or of a running `millrace dev`. It promises that its JSON output contains no secret.
package shell

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Shell holds the configuration and the output of a command.
type Shell struct {
	Config    config.Config
	ConfigErr error
	Out, Err  io.Writer
	Lookup    func(string) (string, bool)
}

// Logger returns the process's logger, as configured.
func (s *Shell) Logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.Config.Logs)); err != nil {
		return nil, fmt.Errorf("--log must be debug, info, warn or error, not %q", s.Config.Logs)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch s.Config.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(s.Err, opts)), nil
	case "text":
		return slog.New(slog.NewTextHandler(s.Err, opts)), nil
	default:
		return nil, fmt.Errorf("--log-format must be text or json, not %q", s.Config.LogFormat)
	}
}

// JSONFlag adds the flag --json.
func JSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", *asJSON, "print the complete answer as JSON")
}

// Printer returns a printer that uses colours on a terminal, unless NO_COLOR is set.
func (s *Shell) Printer() *terminal.Printer {
	colour := false
	if f, ok := s.Out.(*os.File); ok {
		info, err := f.Stat()
		colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	for _, name := range []string{"NO_COLOR", "TERM"} {
		if v, ok := s.Lookup(name); ok && (name == "NO_COLOR" && v != "" || v == "dumb") {
			colour = false
		}
	}
	return &terminal.Printer{Out: s.Out, Colour: colour}
}

// Print writes v as JSON, or calls draw to write it for people.
func (s *Shell) Print(asJSON bool, v any, draw func(*terminal.Printer)) error {
	if asJSON {
		return s.PrintJSON(v)
	}
	p := s.Printer()
	draw(p)
	return p.Err()
}

// PrintJSON writes a value indented, without secrets.
func (s *Shell) PrintJSON(v any) error { return s.encode(v, "  ") }

// printLine writes a value on one line, without secrets.
func (s *Shell) printLine(v any) error { return s.encode(v, "") }

func (s *Shell) encode(v any, indent string) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(inspect.Redact(raw))
}

// Session returns the terminal of a command whose work takes long.
func (s *Shell) Session() operate.Session {
	return operate.Session{
		Progress: func(what, unit string) func(done, total int64) { return progress(s.Err, what, unit) },
		Remark:   func(text string) { fmt.Fprintln(s.Err, text) }, //nolint:errcheck // only a remark
		Lookup:   s.Lookup,
	}
}

// Operator returns the name of the user and the machine that run a command, for the events that the command records.
func Operator() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return "operator:" + name + "@" + host
}

// progress shows a progress bar on a terminal, and nothing elsewhere. unit is the unit of the count.
func progress(w io.Writer, what, unit string) func(done, total int64) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
				progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit), progressbar.OptionShowCount(),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		bar.ChangeMax64(total)
		bar.Set64(done) //nolint:errcheck // drawing only
	}
}
