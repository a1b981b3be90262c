// Package label defines the form of the labels of ComfyUI servers, which servers have, jobs require and accounts are
// allowed to use. It promises that all three accept the same labels. Operators decide the meaning of a label.
package label

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Max bounds the labels of one list.
const Max = 32

var form = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}$`)

// Parse returns the labels sorted and without duplicates. A list that is too long, or contains an invalid label, is
// an error.
func Parse(labels []string) ([]string, error) {
	if len(labels) > Max {
		return nil, fmt.Errorf("a list of labels may have at most %d entries", Max)
	}
	out := []string{}
	for _, l := range labels {
		if !form.MatchString(l) {
			return nil, fmt.Errorf("%q is not a label: letters, digits and . _ : / -, at most 63", fault.Shorten(l, 100))
		}
		out = append(out, l)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
