// Package action describes what operators do. One description - the texts of an action, its parameters and the function
// that carries it out - gives the command, the route of the admin API with its operation in the OpenAPI document, and
// the form of a page. It promises that the three take the same parameters and do the same. How a command line, a request
// or a form is read is left to them.
package action

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Reason says whether a command records a reason. The admin API and pages require one for every change.
type Reason int

// The answers. An action without a reason changes nothing.
const (
	None Reason = iota
	Optional
	Required
)

// Spec is the description of an action without the types of its parameters and its result.
type Spec struct {
	ID       string // of the operation in the OpenAPI document; "" = no route
	Route    string // method and path below /admin
	Summary  string // for programs; "" = that of the first command
	Detail   string
	Commands []Command
	Page     string // path below /console to which its form is sent; "" = no page
	Reason   Reason

	// The answer of the route.
	Status  int    // default: 200
	Schema  string // component of the OpenAPI document; "" = any object
	Member  string // the member that has the whole answer; "" = the answer itself
	List    bool   // the member is a list
	Next    bool   // the member next_before is the cursor of the next page
	Redact  bool   // the answer has what clients stored: values of secret names are replaced
	Refusal map[int]string

	Help   map[string]string // of parameters, where it is too long for a tag
	Params []Param           // from the fields of the parameters
}

// Command is a command, and the button of the same change on a page.
type Command struct {
	Use, Short, Long, Example string // Use "" = no command

	Always         bool              // it writes JSON in any case
	Temporal       bool              // it has the flags of Temporal
	Set            map[string]string // parameters that the command itself gives
	Label, Warning string            // of the button; "" = none
	Danger         bool              // the button ends or removes something
}

// Of is an action with parameters P and result R on a service S. The fields of P have these tags:
//
//	name     in paths, queries and bodies
//	form     in forms; default: the name
//	arg      in the usage of a command, for an argument; one in brackets may be left out
//	flag     of a command; default: the name; "-" = none
//	short    one letter for the flag
//	help     for the command and the OpenAPI document
//	label    on a page
//	choices  separated by commas
//	default  of a command, and of a request unless the tag served has another one
//	min, max of a number
//	commas   "true" = several values of a flag may be separated by commas
//	required "true" = an action without it is refused, "route" = a request without it
//	route    "-" = a command alone has it; of an embedded struct, for all of its fields
//	resolve  the kind of thing that people may name in a shorter way; see Resolver
type Of[S, P, R any] struct {
	Spec
	Do   func(ctx context.Context, s S, p P, by operate.Attribution) (R, error)
	Show func(out *terminal.Printer, p P, r R) // the answer for people
	JSON func(r R) any                         // the answer of --json; default: r
	Body func(r R) any                         // the answer of the route; default: r
	Back func(p P, r R) string                 // the page after the change
	Fail func(p P, r R) error                  // the error that the shown answer means

	// Stream writes answers as they come, in place of Do, if it returns true. JSON is nil for people.
	Stream func(ctx context.Context, s S, p P, out *terminal.Printer, json func(v any) error) (bool, error)
}

// Done is the answer of --json of an action whose result says nothing.
func Done[R any](R) any { return map[string]bool{"done": true} }

// Incomplete is the error of an action that has done a part of its work. A command shows its answer, too.
type Incomplete struct{ error }

// Unwrap returns the error.
func (i *Incomplete) Unwrap() error { return i.error }

// AfterSome returns err as the error of an action that has done a part of its work.
func AfterSome(err error) error {
	if err == nil {
		return nil
	}
	return &Incomplete{err}
}

// For is an action on a service S, without the types of its parameters and its result.
type For[S any] struct {
	*Spec
	New  func(served bool) any // parameters with their defaults
	Do   func(ctx context.Context, s S, params any, by operate.Attribution) (any, error)
	Show func(out *terminal.Printer, params, result any)
	JSON func(result any) any
	Body func(result any) any
	Back func(params, result any) string
	Fail func(params, result any) error

	Stream func(ctx context.Context, s S, params any, out *terminal.Printer, json func(v any) error) (bool, error)
}

// Group is a command with the actions below it.
type Group[S any] struct {
	Use, Short, Long, Example string

	Actions []For[S]
	Groups  []Group[S]
}

// All returns the actions of the group and of the groups below it.
func (g Group[S]) All() []For[S] {
	all := append([]For[S]{}, g.Actions...)
	for _, sub := range g.Groups {
		all = append(all, sub.All()...)
	}
	return all
}

// Specs returns the descriptions of all actions of the group.
func (g Group[S]) Specs() []*Spec {
	var all []*Spec
	for _, a := range g.All() {
		all = append(all, a.Spec)
	}
	return all
}

// Resolver is a service whose things people may name in a shorter way than programs.
type Resolver interface {
	// Resolve returns the id of the thing of a kind that text names.
	Resolve(ctx context.Context, kind, text string) (string, error)
}

// resolve replaces names by ids in the parameters that may be names.
func resolve(ctx context.Context, service any, all []Param, params any) error {
	for _, p := range all {
		text, ok := p.Value(params).(string)
		if p.Resolve == "" || !ok {
			continue
		}
		found, err := service.(Resolver).Resolve(ctx, p.Resolve, text)
		if err != nil {
			return err
		}
		if err := p.Set(params, found); err != nil {
			return err
		}
	}
	return nil
}

// Untyped returns the action without the types of its parameters and its result.
func (a Of[S, P, R]) Untyped() For[S] {
	spec := a.Spec
	spec.Params = paramsOf[P](spec.Route)
	for i, p := range spec.Params {
		spec.Params[i].Help = cmp.Or(p.Help, spec.Help[p.Name])
	}
	f := For[S]{Spec: &spec, JSON: same, Body: same}
	f.New = func(served bool) any {
		p := new(P)
		for _, param := range spec.Params {
			if text := param.defaultFor(served); text != "" {
				if err := param.Set(p, text); err != nil {
					panic(fmt.Sprintf("default of %s: %v", param.Name, err)) // a mistake in a tag
				}
			}
		}
		return p
	}
	f.Do = func(ctx context.Context, s S, params any, by operate.Attribution) (any, error) {
		if err := resolve(ctx, s, spec.Params, params); err != nil {
			return nil, err
		}
		return a.Do(ctx, s, *params.(*P), by)
	}
	if a.Stream != nil {
		f.Stream = func(ctx context.Context, s S, params any, out *terminal.Printer, json func(v any) error) (bool, error) {
			return a.Stream(ctx, s, *params.(*P), out, json)
		}
	}
	f.Show = func(out *terminal.Printer, params, result any) { a.Show(out, *params.(*P), result.(R)) }
	if a.JSON != nil {
		f.JSON = func(result any) any { return a.JSON(result.(R)) }
	}
	if a.Body != nil {
		f.Body = func(result any) any { return a.Body(result.(R)) }
	}
	f.Back = func(params, result any) string { return a.Back(*params.(*P), result.(R)) }
	f.Fail = func(params, result any) error {
		if a.Fail == nil {
			return nil
		}
		return a.Fail(*params.(*P), result.(R))
	}
	return f
}

// Page is the answer of a route with a page of a list; next is the cursor of the next page, 0 = this is the last.
func Page(member string, list any, next int64) map[string]any {
	answer := map[string]any{member: list}
	if next != 0 {
		answer["next_before"] = next
	}
	return answer
}

func same(result any) any { return result }
