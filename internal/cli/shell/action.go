package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Opener calls work with a service of the deployment.
type Opener[S any] func(ctx context.Context, s *Shell, work func(S) error) error

// Group returns the command of a group of actions, with the commands of the actions.
func Group[S any](s *Shell, g action.Group[S], open Opener[S]) *cobra.Command {
	cmd := &cobra.Command{Use: g.Use, Short: g.Short, Long: g.Long, Example: g.Example}
	for _, a := range g.Actions {
		for _, c := range a.Commands {
			if c.Use != "" {
				cmd.AddCommand(Command(s, a, c, open))
			}
		}
	}
	for _, sub := range g.Groups {
		cmd.AddCommand(Group(s, sub, open))
	}
	return cmd
}

// given holds the parameters of a command as they were given.
type given[S any] struct {
	action.For[S]
	set    map[string]string // by the command itself
	params any
	reason string
	asJSON bool
}

// Command returns one command of an action.
func Command[S any](s *Shell, a action.For[S], c action.Command, open Opener[S]) *cobra.Command {
	g := &given[S]{For: a, set: c.Set, params: a.New(false), asJSON: c.Always}
	cmd := &cobra.Command{Use: c.Use, Short: c.Short, Long: c.Long, Example: c.Example}
	arguments, optional, several := 0, 0, false
	for _, p := range a.Params {
		_, fixed := c.Set[p.Name]
		switch {
		case fixed:
		case p.Arg != "" && p.Many():
			several = true
		case p.Optional():
			optional++
		case p.Arg != "":
			arguments++
		case p.Flag != "-":
			g.flag(cmd, p)
		}
	}
	cmd.Args = cobra.RangeArgs(arguments, arguments+optional)
	if several {
		cmd.Args = cobra.MinimumNArgs(arguments)
	}
	if c.Temporal {
		s.TemporalFlags(cmd)
	}
	if a.Reason != action.None {
		cmd.Flags().StringVar(&g.reason, "reason", "", "reason that is recorded with the change")
	}
	JSONFlag(cmd, &g.asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(g.missing(cmd), g.arguments(args)); err != nil {
			return err
		}
		return open(cmd.Context(), s, func(service S) error { return g.run(cmd.Context(), s, service) })
	}
	return cmd
}

// flag adds the flag of a parameter.
func (g *given[S]) flag(cmd *cobra.Command, p action.Param) {
	f := cmd.Flags().VarPF(&flagValue{p: p, params: g.params}, p.Flag, p.Short, p.Help)
	if p.Bool() {
		f.NoOptDefVal = "true"
	}
}

// missing returns an error for the first flag that has to be given and was not.
func (g *given[S]) missing(cmd *cobra.Command) error {
	for _, p := range g.Params {
		if f := cmd.Flags().Lookup(p.Flag); p.Asked && f != nil && !f.Changed {
			return missing{fmt.Errorf("--%s is missing: %s; see %s --help", p.Flag, p.Help, cmd.CommandPath())}
		}
	}
	if g.Reason == action.Required && strings.TrimSpace(g.reason) == "" {
		return missing{errors.New("--reason is missing: it is recorded with the change")}
	}
	return nil
}

// missing is the error for a flag that was not given.
type missing struct{ error }

// UsageError marks it as an error in how the command was typed.
func (missing) UsageError() {}

// arguments sets the parameters that are arguments, and those that the command itself gives.
func (g *given[S]) arguments(args []string) error {
	next := 0
	for _, p := range g.Params {
		texts := []string{g.set[p.Name]}
		if texts[0] == "" {
			if p.Arg == "" || p.Optional() && next == len(args) {
				continue
			}
			last := len(args)
			if !p.Many() {
				last = next + 1
			}
			texts, next = args[next:last], last
		}
		if err := p.Set(g.params, texts...); err != nil {
			return action.Refused(strings.Trim(p.Arg, "[]"), "takes", err)
		}
	}
	return nil
}

// run carries out the action and writes its answer.
func (g *given[S]) run(ctx context.Context, s *Shell, service S) error {
	if streamed, err := g.stream(ctx, s, service); streamed || err != nil {
		return err
	}
	result, err := g.Do(ctx, service, g.params, operate.Attribution{Actor: Operator(), Reason: g.reason})
	var incomplete *action.Incomplete
	if err != nil && !errors.As(err, &incomplete) {
		return err
	}
	shown := s.Print(g.asJSON, g.JSON(result), func(p *terminal.Printer) { g.Show(p, g.params, result) })
	return errors.Join(err, shown, g.Fail(g.params, result))
}

// stream writes the answers of an action that goes on answering, and reports whether it is one.
func (g *given[S]) stream(ctx context.Context, s *Shell, service S) (bool, error) {
	if g.Stream == nil {
		return false, nil
	}
	var line func(v any) error
	if g.asJSON {
		line = s.printLine
	}
	return g.Stream(ctx, service, g.params, s.Printer(), line)
}

// flagValue is a parameter as the value of a flag.
type flagValue struct {
	p      action.Param
	params any
	texts  []string
}

var _ pflag.Value = (*flagValue)(nil)

// Set implements pflag.Value. A flag of several values may be repeated, or have them separated by commas.
func (f *flagValue) Set(text string) error {
	if !f.p.Many() {
		return f.p.Set(f.params, text)
	}
	parts := []string{text}
	if f.p.Commas {
		parts = strings.Split(text, ",")
	}
	f.texts = append(f.texts, parts...)
	return f.p.Set(f.params, f.texts...)
}

// String implements pflag.Value.
func (f *flagValue) String() string {
	if f.params == nil || f.p.Many() {
		return strings.Join(f.texts, ",")
	}
	return f.p.Text(f.params)
}

// Type implements pflag.Value.
func (f *flagValue) Type() string { return f.p.Type() }

// Takes describes the values of the flag.
func (f *flagValue) Takes() string { return f.p.Takes() }
