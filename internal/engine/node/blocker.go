package node

import "strings"

// Blocker is an output that keeps those who read it from running (node graph semantics, section 3.1): they
// hand it on by each of their outputs. The first that meets a message has it told; then it goes on
// silently. Any class may return one in place of any output, for a list also as one of its elements.
type Blocker struct {
	Message string // "" = silent
}

// maxBlockMessage is how many bytes of a blocker's message are told.
const maxBlockMessage = 1024

// told returns the message as far as it is told.
func (b Blocker) told() string {
	if len(b.Message) <= maxBlockMessage {
		return b.Message
	}
	return strings.ToValidUTF8(b.Message[:maxBlockMessage], "") + "…"
}

// blocked returns the blocker among the arguments of one call. One with a message goes before silent ones.
func blocked(args Args) (found Blocker, ok bool) {
	for _, value := range args {
		if b, is := blockerIn(value); is {
			found, ok = prefer(found, b, ok), true
		}
	}
	return found, ok
}

// prefer picks between two blockers by nothing that depends on the order they are met in.
func prefer(a, b Blocker, have bool) Blocker {
	if !have || a.Message == "" || b.Message != "" && b.Message < a.Message {
		return b
	}
	return a
}

// blockerIn returns the blocker that a value is or has among its elements.
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

// blockedOf returns the blocker that keeps a class that takes lists from running.
func blockedOf(lists map[string]List) (found Blocker, ok bool) {
	for _, list := range lists {
		if b, is := blockerIn(list); is {
			found, ok = prefer(found, b, ok), true
		}
	}
	return found, ok
}

// pass is the result of a call that did not run.
func (inv Invocation) pass(b Blocker) Result {
	res := Result{Outputs: make([]Value, len(inv.Class.Outputs)), Blocked: true, Message: b.told()}
	for i := range res.Outputs {
		res.Outputs[i] = Blocker{}
	}
	return res
}
