// Package label has the form of labels of ComfyUI servers, which servers carry, jobs ask for and accounts are allowed.
// It promises that a label which one of them takes is taken by the others. What a label means is decided by operators.
package label

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Max is the most labels of one list.
const Max = 32

var form = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}$`)

// Parse returns labels sorted, each once. A list that is too long, or holds what is no label, is an error.
func Parse(labels []string) ([]string, error) {
	if len(labels) > Max {
		return nil, fmt.Errorf("a list of labels has at most %d entries", Max)
	}
	out := []string{}
	for _, l := range labels {
		if !form.MatchString(l) {
			return nil, fmt.Errorf("%q is not a label: letters, digits and . _ : / -, at most 63", shorten(l))
		}
		out = append(out, l)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func shorten(text string) string {
	const most = 100
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
