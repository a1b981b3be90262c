package text

import (
	"strconv"
	"strings"
	"unicode"
)

// group translates an opening parenthesis and the text that belongs to it.
func (t *translator) group() error {
	rest := t.source[t.at:]
	if !strings.HasPrefix(rest, "(?") {
		t.capture(1)
		return nil
	}
	for _, prefix := range []string{"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.HasPrefix(rest, prefix) {
			t.openGroup(prefix, len(prefix), 0)
			return nil
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?P<"):
		return t.named(rest[4:])
	case strings.HasPrefix(rest, "(?P="):
		name, _, closed := strings.Cut(rest[4:], ")")
		number, known := t.groups[name]
		if !closed || !known {
			return badPattern("there is no group %.64q", name)
		}
		t.at += len(name) + 5
		return t.reference(number)
	case strings.HasPrefix(rest, "(?#"):
		if !t.skipPast(")") {
			return badPattern("a comment is not closed")
		}
		return nil
	case strings.HasPrefix(rest, "(?("):
		return t.conditional(rest[3:])
	default:
		return t.flags(rest[2:])
	}
}

func (t *translator) named(rest string) error {
	name, _, closed := strings.Cut(rest, ">")
	if !closed || !isIdentifier(name) {
		return badPattern("%.64q is no name of a group", name)
	}
	if _, known := t.groups[name]; known {
		return badPattern("there are two groups %.64q", name)
	}
	t.groups[name] = t.capture(len("(?P<>") + len(name))
	return nil
}

func isIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsNumber(r) && !unicode.IsMark(r)) {
			return false
		}
	}
	return name != ""
}

// conditional translates (?(group)then|else). The group may be defined later if it is named by number.
func (t *translator) conditional(rest string) error {
	name, _, closed := strings.Cut(rest, ")")
	number, known := t.groups[name]
	if !known {
		n, err := strconv.ParseUint(name, 10, 16)
		if err != nil || n == 0 {
			return badPattern("there is no group %.64q", name)
		}
		number = int(n)
		t.maxCondition = max(t.maxCondition, number)
	}
	if !closed {
		return badPattern("a condition is not closed")
	}
	t.openGroup("(?("+strconv.Itoa(number)+")", len("(?()")+len(name), 0)
	return nil
}

// flags translates (?ims) at the beginning and (?ims-ims:…) anywhere. The other flags have no effect here, except x,
// which the translator itself applies.
func (t *translator) flags(rest string) error {
	end := strings.IndexAny(rest, ":)")
	if end < 0 || strings.Trim(rest[:end], "imsxu-") != "" || strings.Count(rest[:end], "-") > 1 || rest[:end+1] == ":" {
		return badPattern("the extension (?%.16s is not known", rest)
	}
	on, off, _ := strings.Cut(rest[:end], "-")
	spaced := (t.spaced || strings.Contains(on, "x")) && !strings.Contains(off, "x")
	kept := strings.NewReplacer("x", "", "u", "").Replace(on)
	if dropped := strings.NewReplacer("x", "", "u", "").Replace(off); dropped != "" {
		kept += "-" + dropped
	}
	if rest[end] == ':' {
		t.openGroup("(?"+kept+":", end+3, 0)
		t.spaced = spaced
		return nil
	}
	if len(t.out) > t.prefix || strings.Contains(rest[:end], "-") || end == 0 {
		return badPattern("flags for the whole expression stand at its beginning")
	}
	t.at, t.spaced = t.at+end+3, spaced
	if kept != "" {
		t.out = append(t.out, "(?"+kept+")"...)
	}
	t.prefix = len(t.out)
	return nil
}
