package node

import (
	"github.com/millrace-dev/millrace/internal/fault"
)

// Blocker is an output value that keeps the nodes that read it from running. Each of these nodes returns the Blocker
// from all of its outputs in turn. The first node that reads a Blocker with a message reports the message and passes
// the Blocker on without it. Any class may return a Blocker in place of any output, or as an element of a list.
type Blocker struct {
	Message string // "" = silent
}

// maxBlockMessage bounds the reported bytes of a message.
const maxBlockMessage = 1024

// message returns the message, cut to its bound.
func (b Blocker) message() string {
	return fault.Shorten(b.Message, maxBlockMessage)
}

// blocked returns the Blocker among the arguments of a call. A Blocker with a message takes precedence over one
// without.
func blocked(args Args) (found Blocker, ok bool) {
	for _, value := range args {
		if b, is := blockerIn(value); is {
			found, ok = prefer(found, b, ok), true
		}
	}
	return found, ok
}

// prefer chooses between two Blockers independently of their order.
func prefer(a, b Blocker, have bool) Blocker {
	if !have || a.Message == "" || b.Message != "" && b.Message < a.Message {
		return b
	}
	return a
}

// blockerIn returns value if it is a Blocker, or the Blocker among its elements.
func blockerIn(value Value) (found Blocker, ok bool) {
	switch v := value.(type) {
	case Blocker:
		return v, true
	case List:
		for _, element := range v {
			if b, is := blockerIn(element); is {
				found, ok = prefer(found, b, ok), true
			}
		}
	}
	return found, ok
}

// blockedOf returns the Blocker among the lists of a class that takes lists.
func blockedOf(lists map[string]List) (found Blocker, ok bool) {
	for _, list := range lists {
		if b, is := blockerIn(list); is {
			found, ok = prefer(found, b, ok), true
		}
	}
	return found, ok
}

// pass is the result of a blocked call.
func (inv Invocation) pass(b Blocker) Result {
	res := Result{Outputs: make([]Value, len(inv.Class.Outputs)), Blocked: true, Message: b.message()}
	for i := range res.Outputs {
		res.Outputs[i] = Blocker{}
	}
	return res
}
