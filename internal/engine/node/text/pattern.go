package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/fault"
)

// pattern is a regular expression in Python's syntax, translated to the syntax of regexp2. Named groups become plain
// groups, since regexp2 numbers named groups after all others.
type pattern struct {
	text   string
	groups map[string]int // by name
	count  int            // of groups
}

// translate reads a regular expression as Python's re does, refuses what re refuses, and writes it in the syntax of regexp2.
// Known differences: lookbehind may have any width, and some pairs of upper and lower case beyond ASCII differ.
func translate(source string) (pattern, error) {
	if len(source) > maxPattern {
		return pattern{}, badPattern("it is longer than %d bytes", maxPattern)
	}
	t := &translator{source: source, atom: noAtom, groups: map[string]int{}, closed: []bool{true}}
	for t.at < len(source) {
		if err := t.next(); err != nil {
			return pattern{}, err
		}
		if len(t.open) > maxOpen {
			return pattern{}, badPattern("groups are nested deeper than %d levels", maxOpen)
		}
	}
	if len(t.open) > 0 {
		return pattern{}, t.refuse(t.open[len(t.open)-1].at, "missing ), unterminated subpattern")
	}
	if t.maxCondition >= len(t.closed) {
		return pattern{}, t.refuse(t.conditionAt, "invalid group reference %d", t.maxCondition)
	}
	return pattern{text: string(t.out), groups: t.groups, count: len(t.closed) - 1}, nil
}

// Bounds of a pattern. regexp2 processes patterns recursively.
const (
	maxPattern = 64 << 10 // bytes
	maxOpen    = 500      // nested groups
)

func badPattern(format string, args ...any) error {
	return fault.New(fault.Invalid, fault.CodeRegex, "the regular expression is not valid: "+format, args...)
}

// refuse is the error that re has at an index of the pattern.
func (t *translator) refuse(at int, sentence string, args ...any) error {
	return refusedAt(t.source, at, sentence, args...)
}

// refusedAt is the error that re has at an index of a pattern or a replacement.
func refusedAt(source string, at int, sentence string, args ...any) error {
	before := source[:at]
	where := fmt.Sprintf(" at position %d", utf8.RuneCountInString(before))
	if strings.Contains(source, "\n") {
		line := before[strings.LastIndexByte(before, '\n')+1:]
		where += fmt.Sprintf(" (line %d, column %d)", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
	}
	refusal := fault.New(fault.Invalid, fault.CodeRegex, "the regular expression or its replacement is not valid")
	return refusal.Raising("re.error", "%s%s", fmt.Sprintf(sentence, args...), where)
}

// quoted is a name in an error.
func quoted(name string) string { return python.Quote(fault.Shorten(name, maxName)) }

// maxName bounds the part of a name that an error repeats.
const maxName = 64

// The values of atom if there is no item that a quantifier could repeat: none, or one that is repeated already.
const (
	noAtom   = -1
	repeated = -2
)

type translator struct {
	source       string
	at           int
	out          []byte
	atom         int // index in out of the item that a quantifier would repeat
	open         []openGroup
	groups       map[string]int
	closed       []bool // by group number
	maxCondition int    // highest group number in a condition
	conditionAt  int    // its index in source
	spaced       bool   // white space and comments are left out
	prefix       int    // length of the flags at the beginning of out
}

// openGroup is a parenthesis that has not been closed yet.
type openGroup struct {
	start  int // index in out
	at     int // index in the source
	number int // 0 = not a capturing group
	spaced bool
}

// next translates one item.
func (t *translator) next() error {
	r, size := utf8.DecodeRuneInString(t.source[t.at:])
	switch {
	case t.spaced && strings.ContainsRune(" \t\n\r\v\f", r):
		t.at++
	case t.spaced && r == '#':
		t.skipPast("\n")
	case r == '\\':
		return t.escape()
	case r == '[':
		return t.class()
	case r == '(':
		return t.group()
	case r == ')':
		return t.close()
	case r == '.':
		t.at++
		t.atom = len(t.out)
		t.out = append(t.out, '.')
	case r == '|' || r == '^' || r == '$':
		t.at++
		t.out, t.atom = append(t.out, byte(r)), noAtom
	case strings.ContainsRune("*+?{", r):
		return t.quantifier()
	default:
		t.at += size
		t.literal(r)
	}
	return nil
}

// literal writes a character that has no special meaning.
func (t *translator) literal(r rune) {
	t.atom = len(t.out)
	t.out = appendLiteral(t.out, r)
}

func appendLiteral(out []byte, r rune) []byte {
	if r < utf8.RuneSelf && strings.ContainsRune(`\.+*?()|[]{}^$#-`, r) {
		out = append(out, '\\')
	}
	return utf8.AppendRune(out, r)
}

// skipPast skips everything up to and including the mark.
func (t *translator) skipPast(mark string) bool {
	skipped, _, found := strings.Cut(t.source[t.at:], mark)
	t.at = min(t.at+len(skipped)+len(mark), len(t.source))
	return found
}

// quantifier translates a repetition, also a possessive one.
func (t *translator) quantifier() error {
	at, text := t.at, t.source[t.at:t.at+1]
	if text == "{" {
		interval, size, err := t.readInterval(t.source[t.at:])
		if err != nil {
			return err
		}
		if size == 0 { // not an interval: the brace is a literal
			t.at++
			t.literal('{')
			return nil
		}
		t.at += size
		text = interval
	} else {
		t.at++
	}
	switch t.atom {
	case noAtom:
		return t.refuse(at, "nothing to repeat")
	case repeated:
		return t.refuse(at, "multiple repeat")
	}
	switch {
	case strings.HasPrefix(t.source[t.at:], "+"):
		t.at++
		atomic := "(?>" + string(t.out[t.atom:]) + text + ")"
		t.out = append(t.out[:t.atom], atomic...)
	case strings.HasPrefix(t.source[t.at:], "?"):
		t.at++
		t.out = append(t.out, text+"?"...)
	default:
		t.out = append(t.out, text...)
	}
	t.atom = repeated
	return nil
}

// maxRepeat is the largest bound of an interval: regexp2 has 31 bits.
const maxRepeat = 1 << 30

// readInterval reads {m}, {m,}, {,n} or {m,n}. size is 0 if the text is not an interval.
func (t *translator) readInterval(text string) (interval string, size int, err error) {
	inner, _, closed := strings.Cut(text[1:], "}")
	low, high, ranged := strings.Cut(inner, ",")
	if !closed || inner == "" || strings.Trim(low+high, "0123456789") != "" {
		return "", 0, nil
	}
	from, to := 0, 0
	if low != "" {
		if from, err = strconv.Atoi(low); err != nil || from > maxRepeat {
			return "", 0, badPattern("the repetition {%.32s} is too large", inner)
		}
	}
	interval = "{" + strconv.Itoa(from)
	if ranged {
		interval += ","
	}
	if high != "" {
		if to, err = strconv.Atoi(high); err != nil || to > maxRepeat {
			return "", 0, badPattern("the repetition {%.32s} is too large", inner)
		}
		if to < from {
			return "", 0, t.refuse(t.at+1, "min repeat greater than max repeat")
		}
		interval += strconv.Itoa(to)
	}
	return interval + "}", len(inner) + 2, nil
}

// close ends a group.
func (t *translator) close() error {
	if len(t.open) == 0 {
		return t.refuse(t.at, "unbalanced parenthesis")
	}
	g := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	t.closed[g.number] = true
	t.at++
	t.out, t.atom, t.spaced = append(t.out, ')'), g.start, g.spaced
	return nil
}

// openGroup opens a group with a prefix in the syntax of regexp2.
func (t *translator) openGroup(prefix string, size, number int) {
	t.open = append(t.open, openGroup{start: len(t.out), at: t.at, number: number, spaced: t.spaced})
	t.at += size
	t.out, t.atom = append(t.out, prefix...), noAtom
}

// capture opens the next numbered group.
func (t *translator) capture(size int) int {
	t.closed = append(t.closed, false)
	number := len(t.closed) - 1
	t.openGroup("(", size, number)
	return number
}

// reference writes a back reference, wrapped so that digits after it are not taken for a part of its number. at is the index in the
// source of what names the group.
func (t *translator) reference(number, at int) error {
	if number >= len(t.closed) {
		return t.refuse(at+1, "invalid group reference %d", number)
	}
	if !t.closed[number] {
		return t.refuse(at, "cannot refer to an open group")
	}
	t.atom = len(t.out)
	t.out = append(t.out, `(?:\`+strconv.Itoa(number)+`)`...)
	return nil
}
