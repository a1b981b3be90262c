package node

import (
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/millrace-dev/millrace/internal/engine/layers"
	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

//go:embed misuse.json
var recorded []byte

// misuses are the exceptions of ComfyUI's classes for arguments of other types than their inputs have: by class and input, then by kind of
// value. {type}, {repr} and {str} stand for the type and the text of the value. standard/testdata/make_misuse.py records them.
var misuses = sync.OnceValue(func() map[string]map[string]string {
	var inputs map[string]map[string]string
	if err := json.Unmarshal(recorded, &inputs); err != nil {
		panic(err)
	}
	for _, row := range inputs {
		for kinds, exception := range maps.Clone(row) {
			for kind := range strings.SplitSeq(kinds, ",") {
				row[kind] = exception
			}
		}
	}
	return inputs
})

// maxQuoted bounds the part of a value that an error repeats.
const maxQuoted = 256

// asRaised returns the error of a class as the class of ComfyUI raises it: if an argument is of a type that the class of ComfyUI
// cannot use, it is that exception.
func (inv Invocation) asRaised(err error, call Call) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Kind != fault.Invalid || refusal.Exception != "" {
		return err
	}
	arguments := maps.Clone(call.Lists)
	for name, value := range call.Args {
		if arguments == nil {
			arguments = map[string]List{}
		}
		arguments[name] = List{value}
	}
	for _, in := range inv.Class.Inputs {
		for _, name := range slices.Sorted(maps.Keys(arguments)) {
			if name != in.Name && !strings.HasPrefix(name, in.Name+".") {
				continue
			}
			for _, value := range arguments[name] {
				if exception := misuse(inv.Class, name, value); exception != nil {
					return refusal.Raising(exception.Name, "%s", exception.Sentence)
				}
			}
		}
	}
	return err
}

// misuse returns the exception that a class of ComfyUI raises for a value of an input; nil = none is known.
func misuse(class *Class, input string, value Value) *python.Exception {
	if strings.Contains(input, ".") {
		input = strings.TrimRight(input, "0123456789") // the parts of an input that grows are alike
	}
	kind, typeName := kindOf(value)
	name, sentence, known := strings.Cut(misuses()[class.Name+"."+input][kind], ": ")
	if !known {
		return nil
	}
	texts := []string{"{type}", typeName}
	for mark, write := range map[string]func(any) string{"{repr}": python.Repr, "{str}": python.Str} {
		if strings.Contains(sentence, mark) { // the text of a picture would be as large as the picture; no sentence has one
			texts = append(texts, mark, fault.Shorten(write(value), maxQuoted))
		}
	}
	return python.Raise(name, "%s", strings.NewReplacer(texts...).Replace(sentence))
}

// kindOf returns the kind of a value in the table of exceptions, and Python's name of its type.
func kindOf(value Value) (kind, typeName string) {
	empty := false
	switch v := value.(type) {
	case nil:
		return "None", "NoneType"
	case *raster.Image:
		return "IMAGE", "Tensor"
	case *raster.Mask:
		return "MASK", "Tensor"
	case *media.Sound:
		return "AUDIO", "dict"
	case Opaque, *layers.Stack:
		return "", ""
	case *media.Video:
		if v.Frames != nil {
			return "VIDEO", "VideoFromComponents"
		}
		return "VIDEO", "VideoFromFile"
	case string:
		empty = v == ""
	case []any:
		empty = len(v) == 0
	case map[string]any:
		empty = len(v) == 0
	}
	typeName = python.TypeName(value)
	if empty {
		return "empty " + typeName, typeName
	}
	return typeName, typeName
}
