package text

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// The modes of RegexExtract.
const (
	firstMatch = "First Match"
	allMatches = "All Matches"
	firstGroup = "First Group"
	allGroups  = "All Groups"
)

// RegexMatch reports whether a pattern matches anywhere in a text. An invalid pattern matches nothing.
func RegexMatch() *node.Class {
	return &node.Class{
		Name: "RegexMatch", DisplayName: "Match Text", Category: "text", Module: moduleString,
		Description: "Tells whether a regular expression matches anywhere in a text.",
		Inputs: append([]node.Input{multiline("string", "The text to look into."), multiline("regex_pattern", "The regular expression.")},
			regexFlags()...),
		Outputs: []node.Output{{Type: node.Boolean, Name: "matches"}},
		Run: func(_ context.Context, call *node.Call) (node.Result, error) {
			pattern, s, options := call.String("regex_pattern"), call.String("string"), regexOptions(call)
			re, err := compile(pattern, options)
			if err != nil {
				return declare.One(false, unlessInvalid(err))
			}
			match, err := re.FindStringMatch(s)
			if err != nil {
				return node.Result{}, tooSlow(err)
			}
			return declare.One(match != nil, nil)
		},
	}
}

// RegexExtract returns the matches of a pattern, or of a group of it. An invalid pattern matches nothing.
func RegexExtract() *node.Class {
	inputs := []node.Input{
		multiline("string", "The text to look into."),
		multiline("regex_pattern", "The regular expression."),
		{
			Name: "mode", Type: node.Combo, Options: []string{firstMatch, allMatches, firstGroup, allGroups},
			Tooltip: "What is taken; several are put on lines of their own.",
		},
	}
	return &node.Class{
		Name: "RegexExtract", DisplayName: "Extract Text", Category: "text", Module: moduleString,
		Description: "Takes what a regular expression matches out of a text.",
		Inputs: append(append(inputs, regexFlags()...), node.Input{
			Name: "group_index", Type: node.Int, Default: 1, Min: 0, Max: 100, Advanced: true, Tooltip: "Which group is taken.",
		}),
		Outputs: textOut(),
		Run:     runRegexExtract,
	}
}

func runRegexExtract(ctx context.Context, call *node.Call) (node.Result, error) {
	pattern, s, mode, group := call.String("regex_pattern"), call.String("string"), call.String("mode"), call.Int("group_index")
	options := regexOptions(call)
	if group < 0 {
		return node.Result{}, fault.New(fault.Invalid, fault.CodeRegex, "the pattern has no group %d", group)
	}
	re, err := compile(pattern, options)
	if err != nil {
		return declare.One("", unlessInvalid(err))
	}
	most := 0
	if mode == firstMatch || mode == firstGroup {
		most = 1
	}
	switch mode {
	case firstMatch:
		group = 0
	case allMatches: // like findall, the first group, if there is one, stands for the match
		group = min(re.count, 1)
	case firstGroup, allGroups:
		if group > re.count || mode == allGroups && re.count == 0 {
			return declare.One("", nil)
		}
	default:
		return declare.One(nil, unknownMode(mode))
	}
	found, err := re.find(ctx, s, group, most)
	return bounded(strings.Join(found, "\n"), err)
}

// find returns a group of the first most matches, or of all if most is 0. A group that took no part in a match is
// empty.
func (re *expression) find(ctx context.Context, s string, group, most int) ([]string, error) {
	runes := []rune(s)
	var found []string
	deadline, size := time.Now().Add(maxSearch), 0
	match, err := re.FindRunesMatch(runes)
	for ; match != nil && err == nil && (most == 0 || len(found) < most); match, err = re.next(match, runes) {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Now().After(deadline):
			return nil, tooSlow(nil)
		}
		text := ""
		if g := match.GroupByNumber(group); g != nil {
			text = g.String()
		}
		if size += len(text) + 1; size > maxLength {
			return nil, tooLong()
		}
		found = append(found, text)
	}
	if err != nil {
		return nil, tooSlow(err)
	}
	return found, nil
}

// unlessInvalid drops the error of an invalid pattern, and keeps other errors.
func unlessInvalid(err error) error {
	if fault.Is(err, fault.Invalid) {
		return nil
	}
	return err
}

// regexFlags returns the flags of the classes that only search.
func regexFlags() []node.Input {
	flags := []node.Input{
		flag("case_insensitive", true, "Whether upper and lower case match each other."),
		flag("multiline", false, "Whether ^ and $ match at every line."),
		flag("dotall", false, "Whether the dot matches line ends, too."),
	}
	for i := range flags {
		flags[i].Section = node.Required
	}
	return flags
}
