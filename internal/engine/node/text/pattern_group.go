package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
		return t.named()
	case strings.HasPrefix(rest, "(?P="):
		name, err := t.name(4, ")")
		if err != nil {
			return err
		}
		number, known := t.groups[name]
		if !known {
			return t.refuse(t.at+4, "unknown group name %s", quoted(name))
		}
		at := t.at + 4
		t.at += len(name) + 5
		return t.reference(number, at)
	case strings.HasPrefix(rest, "(?#"):
		at := t.at
		if !t.skipPast(")") {
			return t.refuse(at, "missing ), unterminated comment")
		}
		return nil
	case strings.HasPrefix(rest, "(?("):
		return t.conditional()
	case rest == "(?" || rest == "(?P" || rest == "(?<":
		return t.refuse(len(t.source), "unexpected end of pattern")
	case strings.HasPrefix(rest, "(?P") || strings.HasPrefix(rest, "(?<"):
		_, size := utf8.DecodeRuneInString(rest[3:])
		return t.refuse(t.at+1, "unknown extension %s", rest[1:3+size])
	case !strings.ContainsRune("aiLmsux-", rune(rest[2])):
		_, size := utf8.DecodeRuneInString(rest[2:])
		return t.refuse(t.at+1, "unknown extension ?%s", rest[2:2+size])
	default:
		return t.flags(rest[2:])
	}
}

// name reads the name of a group that begins at an offset and ends before a character.
func (t *translator) name(offset int, end string) (string, error) {
	name, _, closed := strings.Cut(t.source[t.at+offset:], end)
	switch {
	case name == "":
		return "", t.refuse(t.at+offset, "missing group name")
	case !closed:
		return "", t.refuse(t.at+offset, "missing %s, unterminated name", end)
	}
	return name, nil
}

func (t *translator) named() error {
	name, err := t.name(4, ">")
	if err != nil {
		return err
	}
	if !isIdentifier(name) {
		return t.refuse(t.at+4, "bad character in group name %s", quoted(name))
	}
	if number, known := t.groups[name]; known {
		return t.refuse(t.at+4, "redefinition of group name %s as group %d; was group %d", quoted(name), len(t.closed), number)
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
func (t *translator) conditional() error {
	name, err := t.name(3, ")")
	if err != nil {
		return err
	}
	number, known := t.groups[name]
	if !known {
		n, err := strconv.ParseUint(name, 10, 16)
		switch {
		case isIdentifier(name):
			return t.refuse(t.at+3, "unknown group name %s", quoted(name))
		case err != nil:
			return t.refuse(t.at+3, "bad character in group name %s", quoted(name))
		case n == 0:
			return t.refuse(t.at+3, "bad group number")
		}
		if number = int(n); number > t.maxCondition {
			t.maxCondition, t.conditionAt = number, t.at+3
		}
	}
	t.openGroup("(?("+strconv.Itoa(number)+")", len("(?()")+len(name), 0)
	return nil
}

// flags translates (?ims) at the beginning and (?ims-ims:…) anywhere. The other flags have no effect here, except x,
// which the translator itself applies.
func (t *translator) flags(rest string) error {
	end := strings.IndexAny(rest, ":)")
	if end < 0 && strings.Trim(rest, "aiLmsux") == "" {
		return t.refuse(len(t.source), "missing -, : or )")
	}
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
		return t.refuse(t.at, "global flags not at the start of the expression")
	}
	t.at, t.spaced = t.at+end+3, spaced
	if kept != "" {
		t.out = append(t.out, "(?"+kept+")"...)
	}
	t.prefix = len(t.out)
	return nil
}
