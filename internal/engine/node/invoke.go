package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Invocation is a run of a node: its class and the values of its inputs. If a value is a List, the class is called
// for each element.
type Invocation struct {
	Class  *Class
	Inputs Args
	Lazy   []string // names of the linked lazy inputs; the evaluated ones are also in Inputs
}

// maxMapped bounds the calls of one node for the elements of its lists.
const maxMapped = 10_000

// Needs returns the lazy inputs that must be evaluated before Run, in the order of Lazy.
func (inv Invocation) Needs() []string {
	var absent []string
	for _, name := range inv.Lazy {
		if _, ok := inv.Inputs[name]; !ok {
			absent = append(absent, name)
		}
	}
	if len(absent) == 0 || inv.idle() {
		return nil
	}
	if inv.Class.LazyNeeds == nil {
		return absent
	}
	wanted := map[string]bool{}
	for _, args := range inv.calls() {
		if _, is := blocked(args); is {
			continue
		}
		for _, name := range inv.Class.LazyNeeds(args) {
			wanted[name] = true
		}
	}
	return slices.DeleteFunc(absent, func(name string) bool { return !wanted[name] })
}

// idle reports whether every call is blocked.
func (inv Invocation) idle() bool {
	if inv.Class.InputIsList {
		_, is := blockedOf(inv.lists())
		return is
	}
	calls := inv.calls()
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(args Args) bool {
		_, is := blocked(args)
		return !is
	})
}

// Run calls the class once, or once for each element of the longest list, and joins the results. A call with a
// Blocker among its arguments does not run; its outputs are Blockers. call holds everything but the arguments. A
// panic of the class becomes an error of kind Internal, and an argument that it could not read one of kind Invalid.
func (inv Invocation) Run(ctx context.Context, call Call) (Result, error) {
	if inv.Class.InputIsList {
		call.Lists = inv.lists()
		if b, is := blockedOf(call.Lists); is {
			return inv.pass(b), nil
		}
		res, err := inv.once(ctx, call)
		if err != nil {
			return Result{}, err
		}
		if err := (&weight{maxPixels: call.MaxPixels}).add(res); err != nil {
			return Result{}, err
		}
		return inv.end([]Result{res}), nil
	}
	if n := inv.longest(); n > maxMapped {
		return Result{}, fault.New(fault.Exhausted, fault.CodeListTooLong, "a list has %d elements; at most %d are allowed", n, maxMapped)
	}
	var results []Result
	total := &weight{maxPixels: call.MaxPixels}
	if inv.mapped() && call.Files != nil {
		call.Files = &renumbered{Files: call.Files}
	}
	for _, args := range inv.calls() {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("run node %s: %w", call.NodeID, context.Cause(ctx))
		}
		if b, is := blocked(args); is {
			results = append(results, inv.pass(b))
			continue
		}
		call.Args = args
		res, err := inv.once(ctx, call)
		if err == nil && inv.mapped() {
			err = total.add(res)
		}
		if err != nil {
			return Result{}, err
		}
		results = append(results, res)
	}
	return inv.end(results), nil
}

// end joins the results of all calls. If one of them expands, it returns them unjoined: they are joined when the
// expansion has run.
func (inv Invocation) end(results []Result) Result {
	if expands(results) {
		return Result{Calls: results}
	}
	return join(inv.Class, inv.mapped(), results)
}

// once calls the class and checks its result.
func (inv Invocation) once(ctx context.Context, call Call) (res Result, err error) {
	defer func() {
		p := recover()
		if argument, is := p.(unreadable); is {
			err = inv.asRaised(argument.err, call)
		} else if p != nil {
			err = fault.Wrap(fmt.Errorf("%v\n%s", p, debug.Stack()), fault.Internal, fault.CodeNodePanic,
				"class %s stopped unexpectedly", inv.Class.Name)
		}
	}()
	res, err = inv.Class.Run(ctx, &call)
	if err != nil {
		return Result{}, inv.asRaised(err, call)
	}
	if got, want := len(res.Outputs), len(inv.Class.Outputs); got != want {
		return Result{}, fmt.Errorf("class %s returned %d outputs and declares %d", inv.Class.Name, got, want)
	}
	for i, out := range inv.Class.Outputs {
		if _, later := res.Outputs[i].(From); later && res.Expand != nil {
			continue // the value comes from the expansion
		}
		if b, is := blockerIn(res.Outputs[i]); is {
			res.Blocked = true
			if b == res.Outputs[i] {
				continue // a Blocker may stand for any output
			}
		}
		if _, isList := res.Outputs[i].(List); isList != out.IsList {
			return Result{}, fmt.Errorf("class %s returned output %d with IsList %t and declares %t", inv.Class.Name, i, isList, out.IsList)
		}
	}
	if call.Ran != nil {
		call.Ran(res)
	}
	return res, nil
}

// longest returns the number of calls: the length of the longest list among the inputs.
func (inv Invocation) longest() int {
	calls, lists := 0, false
	for _, value := range inv.Inputs {
		if list, ok := value.(List); ok {
			lists = true
			calls = max(calls, len(list))
		}
	}
	if !lists {
		return 1
	}
	return calls
}

// calls returns the arguments of each call. Shorter lists repeat their last element; the input of an empty list is
// absent.
func (inv Invocation) calls() []Args {
	calls := make([]Args, inv.longest())
	for i := range calls {
		calls[i] = make(Args, len(inv.Inputs))
		for name, value := range inv.Inputs {
			list, ok := value.(List)
			switch {
			case !ok:
				calls[i][name] = value
			case len(list) > 0:
				calls[i][name] = list[min(i, len(list)-1)]
			}
		}
	}
	return calls
}

// lists returns the inputs of a class that takes lists: single values become lists of one element.
func (inv Invocation) lists() map[string]List {
	lists := make(map[string]List, len(inv.Inputs))
	for name, value := range inv.Inputs {
		list, ok := value.(List)
		if !ok {
			list = List{value}
		}
		lists[name] = list
	}
	return lists
}

// mapped reports whether an input is a list, so that outputs become lists.
func (inv Invocation) mapped() bool {
	if inv.Class.InputIsList {
		return false
	}
	for _, value := range inv.Inputs {
		if _, ok := value.(List); ok {
			return true
		}
	}
	return false
}

// join joins the results of all calls: lists are concatenated, single values become elements, and UI outputs are
// concatenated by key.
func join(class *Class, mapped bool, results []Result) Result {
	if len(results) == 1 && !mapped {
		return results[0]
	}
	joined := Result{Outputs: make([]Value, len(class.Outputs))}
	for i := range class.Outputs {
		list := List{}
		for _, res := range results {
			if elements, ok := res.Outputs[i].(List); ok {
				list = append(list, elements...)
			} else {
				list = append(list, res.Outputs[i])
			}
		}
		joined.Outputs[i] = list
	}
	for _, res := range results {
		joined.Blocked = joined.Blocked || res.Blocked
		joined.Message = cmp.Or(joined.Message, res.Message)
		for key, shown := range res.UI {
			if joined.UI == nil {
				joined.UI = map[string][]any{}
			}
			joined.UI[key] = append(joined.UI[key], shown...)
		}
	}
	return joined
}

// renumbered gives the files of mapped calls distinct indices, since each call numbers its files from 0.
type renumbered struct {
	Files
	base, next int
}

// Save implements Files.
func (f *renumbered) Save(ctx context.Context, save Save, write func(io.Writer) error) (File, error) {
	if save.Index == 0 {
		f.base = f.next
	}
	save.Index += f.base
	f.next = max(f.next, save.Index+1)
	return f.Files.Save(ctx, save, write)
}
