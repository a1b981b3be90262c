// Package records answers questions about one job, call or asset from its events: its state, its events, the use of its
// time, its differences from another, and its workflows. It promises that all three kinds are asked in the same ways.
package records

import (
	"context"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
)

// shortestID is the minimum length of a prefix of an id.
const shortestID = 4

// IDRange returns the least and the greatest id of a kind (job, call, asset) that begin with text, which may be a
// complete id or the name of its stream. All ids have their hyphens at the same positions and otherwise only
// lower-case hex digits, so that every collation of a database orders them alike.
func IDRange(noun, text string) (from, to string, err error) {
	digits := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(text, noun+"-")), "-", "")
	if len(digits) < shortestID || len(digits) > 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", "", fault.New(fault.NotFound, notFound[noun], "%q is not the id of %s %s, or its first %d or more characters",
			terminal.Clean(text), article(noun), noun, shortestID)
	}
	padded := func(with string) string {
		d := digits + strings.Repeat(with, 32-len(digits))
		return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:]
	}
	return padded("0"), padded("f"), nil
}

// notFound holds the error code of each kind.
var notFound = map[string]fault.Code{
	"job": fault.CodeJobNotFound, "call": fault.CodeCallNotFound, "asset": fault.CodeAssetNotFound,
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an"
	}
	return "a"
}

// FindStream returns the one stream of a kind whose id begins with text. A public id that a client chose counts as
// well, unless text is the name of a stream.
func FindStream(ctx context.Context, pool *postgres.Pool, noun, text string) (string, error) {
	from, to, err := IDRange(noun, text)
	if err != nil {
		return "", err
	}
	store := operatestore.New(pool)
	found, err := store.Streams(ctx, noun+"-"+from, noun+"-"+to)
	if err == nil && !strings.HasPrefix(text, noun+"-") {
		found, err = withChosen(ctx, store, found, noun, from, to)
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fault.New(fault.NotFound, notFound[noun], "%s %s does not exist", noun, terminal.Clean(text))
	case len(found) > 1:
		return "", fault.New(fault.Conflict, fault.CodeAmbiguousID,
			"several %ss have ids that begin with %s: give more characters of the id, or the complete id with its prefix (%s, %s, …)",
			noun, terminal.Clean(text), found[0], found[1])
	}
	return found[0], nil
}

// withChosen adds the streams of the jobs or assets whose clients chose a public id in the range.
func withChosen(ctx context.Context, store *operatestore.Store, found []string, noun, from, to string) ([]string, error) {
	chosen, err := store.Chosen(ctx, noun, from, to)
	if err != nil {
		return nil, err
	}
	for _, id := range chosen {
		if stream := noun + "-" + id; !slices.Contains(found, stream) {
			found = append(found, stream)
		}
	}
	return found, nil
}
