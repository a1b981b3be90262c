package text

import (
	"context"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/declare"
	"github.com/millrace-dev/millrace/internal/fault"
)

// maxSearch bounds the time of one search, and of all searches of a call together.
const maxSearch = 2 * time.Second

// RegexReplace replaces the matches of a pattern.
func RegexReplace() *node.Class {
	return &node.Class{
		Name: "RegexReplace", DisplayName: "Replace Text (Regex)", Category: "text", Module: moduleString,
		Description: `Replaces what a regular expression matches. \1 or \g<name> in the replacement stand for groups.`,
		Inputs: []node.Input{
			multiline("string", "The text to change."),
			multiline("regex_pattern", "The regular expression."),
			multiline("replace", "What stands there instead."),
			flag("case_insensitive", true, "Whether upper and lower case match each other."),
			flag("multiline", false, "Whether ^ and $ match at every line."),
			flag("dotall", false, "Whether the dot matches line ends, too."),
			{
				Name: "count", Type: node.Int, Section: node.Optional, Default: 0, Min: 0, Max: 100, Advanced: true,
				Tooltip: "How many matches are replaced at most; 0 = all.",
			},
		},
		Outputs: textOut(),
		Run:     runRegexReplace,
	}
}

func flag(name string, def bool, tooltip string) node.Input {
	return node.Input{Name: name, Type: node.Boolean, Section: node.Optional, Default: def, Advanced: true, Tooltip: tooltip}
}

func runRegexReplace(ctx context.Context, call *node.Call) (node.Result, error) {
	pattern, by, s := call.String("regex_pattern"), call.String("replace"), call.String("string")
	options := regexOptions(call)
	count := node.Given(call, "count", call.Int, 0)
	re, err := compile(pattern, options)
	if err != nil {
		return node.Result{}, err
	}
	parts, err := re.template(by)
	if err != nil {
		return node.Result{}, err
	}
	return declare.One(re.replace(ctx, s, parts, count))
}

func regexOptions(call *node.Call) regexp2.RegexOptions {
	var options regexp2.RegexOptions
	for _, f := range []struct {
		name   string
		def    bool
		option regexp2.RegexOptions
	}{
		{"case_insensitive", true, regexp2.IgnoreCase},
		{"multiline", false, regexp2.Multiline},
		{"dotall", false, regexp2.Singleline},
	} {
		if node.Given(call, f.name, call.Bool, f.def) {
			options |= f.option
		}
	}
	return options
}

// expression is a compiled pattern with the names of its groups.
type expression struct {
	*regexp2.Regexp
	advancing *regexp2.Regexp // the same pattern, but without an empty match at the start of the search
	pattern
}

func compile(source string, options regexp2.RegexOptions) (*expression, error) {
	p, err := translate(source)
	if err != nil {
		return nil, err
	}
	re := &expression{pattern: p}
	for text, compiled := range map[string]**regexp2.Regexp{p.text: &re.Regexp, "(?:" + p.text + `)(?!\G)`: &re.advancing} {
		if *compiled, err = regexp2.Compile(text, options); err != nil {
			return nil, badPattern("%s", err)
		}
		(*compiled).MatchTimeout = maxSearch
	}
	return re, nil
}

// piece is a part of a replacement: a literal text, or a group if text is empty.
type piece struct {
	text  string
	group int
}

// replace replaces the first count matches, or all if count is 0.
func (re *expression) replace(ctx context.Context, s string, parts []piece, count int) (string, error) {
	runes := []rune(s)
	var b strings.Builder
	end, deadline := 0, time.Now().Add(maxSearch)
	match, err := re.FindRunesMatch(runes)
	for n := 0; match != nil && err == nil && (count <= 0 || n < count); n++ {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if time.Now().After(deadline) {
			return "", tooSlow(nil)
		}
		b.WriteString(string(runes[end:match.Index]))
		for _, p := range parts {
			b.WriteString(p.text)
			if g := match.GroupByNumber(p.group); p.text == "" && g != nil {
				b.WriteString(g.String())
			}
		}
		if b.Len() > maxLength {
			return "", tooLong()
		}
		end = match.Index + match.Length
		match, err = re.next(match, runes)
	}
	if err != nil {
		return "", tooSlow(err)
	}
	b.WriteString(string(runes[end:]))
	if b.Len() > maxLength {
		return "", tooLong()
	}
	return b.String(), nil
}

// next finds the next match. After an empty match, a match that is not empty may begin at the same index.
func (re *expression) next(match *regexp2.Match, runes []rune) (*regexp2.Match, error) {
	end := match.Index + match.Length
	if match.Length == 0 {
		return re.advancing.FindRunesMatchStartingAt(runes, end)
	}
	return re.FindRunesMatchStartingAt(runes, end)
}

func tooSlow(cause error) error {
	return fault.Wrap(cause, fault.Exhausted, fault.CodeRegexTime, "the regular expression takes longer than %s on this text", maxSearch)
}
