package python

import "fmt"

// Exception is a failure as Python raises it: the name of the exception and its sentence.
type Exception struct{ Name, Sentence string }

// Raise returns an Exception.
func Raise(name, sentence string, args ...any) *Exception {
	return &Exception{Name: name, Sentence: fmt.Sprintf(sentence, args...)}
}

// Error returns the last line of Python's traceback.
func (e *Exception) Error() string { return e.Name + ": " + e.Sentence }

// Element returns an element of a value: key is an int, the index in a string or a list, or a string.
func Element(value, key any) (any, *Exception) {
	index, byIndex := key.(int)
	switch v := value.(type) {
	case string:
		switch runes := []rune(v); {
		case !byIndex:
			return nil, Raise("TypeError", "string indices must be integers, not 'str'")
		case index < len(runes):
			return string(runes[index]), nil
		}
		return nil, Raise("IndexError", "string index out of range")
	case []any:
		switch {
		case !byIndex:
			return nil, Raise("TypeError", "list indices must be integers or slices, not str")
		case index < len(v):
			return v[index], nil
		}
		return nil, Raise("IndexError", "list index out of range")
	case map[string]any:
		name, _ := key.(string)
		if element, ok := v[name]; ok && !byIndex {
			return element, nil
		}
		return nil, Raise("KeyError", "%s", Repr(key))
	}
	return nil, Raise("TypeError", "'%s' object is not subscriptable", TypeName(value))
}
