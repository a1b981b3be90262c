package tutorials_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is one example of a page: its commands and its output.
type block struct {
	language string // sh, python or ts
	text     string
	output   string // "" = the page shows none
	from, to int    // of the output in the page, without its fences
	skipped  string // why it is not run, "" = it is
}

var (
	fence  = regexp.MustCompile("(?m)^```([a-z]*)\n((?s:.*?))^```\n")
	notRun = regexp.MustCompile(`<!-- not run: ([^>]+) -->\s*$`)
)

// blocks returns the examples of a page in order.
func blocks(page string) []block {
	var found []block
	end := 0
	for _, at := range fence.FindAllStringSubmatchIndex(page, -1) {
		language, text := page[at[2]:at[3]], page[at[4]:at[5]]
		before := page[end:at[0]]
		end = at[1]
		switch language {
		case "sh", "python", "ts":
			b := block{language: language, text: text}
			if why := notRun.FindStringSubmatch(before); why != nil {
				b.skipped = why[1]
			}
			found = append(found, b)
		case "", "json":
			if len(found) > 0 && strings.TrimSpace(before) == "" && found[len(found)-1].output == "" {
				last := &found[len(found)-1]
				last.output, last.from, last.to = text, at[4], at[5]
			}
		}
	}
	return found
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	volatile = []struct {
		pattern *regexp.Regexp
		shape   string
	}{
		{uuids, "UUID"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?`), "TIME"},
		{regexp.MustCompile(`blake3:[0-9a-f]{64}","size":\d+`), `HASH","size":N`},
		{regexp.MustCompile(`"number":\d+`), `"number":N`},
		{regexp.MustCompile(`(?m)^  Data .*$`), "  Data PATH"},
		{regexp.MustCompile(`(?m)^Date: .*$`), "Date: TIME"},
		{regexp.MustCompile(`"id":"[0-9a-f]{8}"`), `"id":"ID"`},
		{regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`), "SECRET"},
		{regexp.MustCompile(`mr_[A-Za-z0-9_-]{8,}`), "KEY"},
		{regexp.MustCompile(`\?[a-z]+=[A-Za-z0-9_.%&=-]{20,}`), "?SIGNED"},
		{regexp.MustCompile(`\b\d+(\.\d+)? (ms|s)\b`), "TOOK"},
		{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "BASE"},
		{regexp.MustCompile(`\s+`), " "},
	}
)

// shape returns the part of an output that is compared.
func shape(output string) string {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(output)) == nil {
		output = compact.String()
	}
	for _, v := range volatile {
		output = v.pattern.ReplaceAllString(output, v.shape)
	}
	return strings.TrimSpace(output)
}

// wrapped breaks a long line of JSON after commas, so that the page can be read without scrolling.
func wrapped(output string) string {
	const width = 130
	var b strings.Builder
	for line := range strings.Lines(output) {
		for strings.HasPrefix(line, "{") || b.Len() > 0 && strings.HasPrefix(line, " ") {
			at := strings.LastIndex(line[:min(width, len(line))], `,"`)
			if len(line) <= width || at <= 0 {
				break
			}
			b.WriteString(line[:at+1] + "\n")
			line = " " + line[at+1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestBlocksOfAPageAreFound(t *testing.T) {
	t.Parallel()
	page := "Text\n```sh\na\n```\n```json\n{\"x\":1}\n```\n\n<!-- not run: it builds -->\n```sh\nb\n```\nText\n```\nc\n```\n"
	found := blocks(page)
	require.Len(t, found, 2)
	require.Equal(t, "{\"x\":1}\n", found[0].output)
	require.Equal(t, found[0].output, page[found[0].from:found[0].to])
	require.Equal(t, "it builds", found[1].skipped)
	require.Empty(t, found[1].output, "text stands between")
	require.Equal(t, shape(`{"id":"5c1482e9-cb7d-449b-9d73-e019565028fb", "at":"2026-11-21T06:38:23.268Z"}`),
		shape(`{"id":"00000000-cb7d-449b-9d73-e019565028fb","at":"2027-01-01T00:00:00Z"}`))
	require.NotEqual(t, shape(`{"status":"completed"}`), shape(`{"status":"failed"}`))
}
