package tutorials_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// step is a command of a session, as a page shows it behind a prompt, with what it prints.
type step struct {
	command string
	output  []string // "…" stands for any lines
}

// steps reads a session.
func steps(text string) []step {
	var all []step
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if command, is := strings.CutPrefix(line, "$ "); is {
			all = append(all, step{command: command})
		} else if len(all) > 0 {
			all[len(all)-1].output = append(all[len(all)-1].output, line)
		}
	}
	return all
}

// forms are what differs from run to run in the tables that the program prints, in the order in which it is replaced.
var forms = []struct {
	pattern *regexp.Regexp
	form    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`operator:[^ @]+@[^ ]+`), "operator:SOMEBODY"},
	{regexp.MustCompile(`millrace \S+, go\S+, \S+`), "millrace VERSION"},
	{regexp.MustCompile(`Temporal [0-9.]+`), "Temporal VERSION"},
	{regexp.MustCompile(`free in \S+`), "free in DIRECTORY"},
	{regexp.MustCompile(`\b[A-Za-z][\w.-]*/\d{2,}(/\S*)?`), "WORKER"},
	{regexp.MustCompile(`\b\d+@\S+`), "WORKER"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?(\.\d+)?( UTC)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d-\d\d \d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "DAY"},
	{regexp.MustCompile(`\b\d+(\.\d+)?( ms| s|ms|µs|s)\b|\b\d+m\d\ds\b|\b\d+h\d\dm\b|\b\d+d\d\dh\b`), "SPAN"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "ID"}, // it may be of digits alone
	{regexp.MustCompile(`\b\d+(\.\d+)? (B|KiB|MiB|GiB)\b`), "SIZE"},
	{regexp.MustCompile(`×[\d.]+`), ""},
	{regexp.MustCompile(`\d+(\.\d+)?`), "N"},
	{regexp.MustCompile(`[▏▎▍▌▋▊▉█░─]+`), " "},
	{regexp.MustCompile(`\s+`), " "},
}

// form returns what is compared of a line. Of one that the program has cut, that is its beginning.
func form(line string) string {
	for _, f := range forms {
		line = f.pattern.ReplaceAllString(line, f.form)
	}
	line = strings.TrimSpace(line)
	if strings.HasSuffix(line, "…") && line != "…" {
		line = strings.Join(strings.Fields(line)[:min(3, len(strings.Fields(line)))], " ")
	}
	return line
}

// same reports whether a command printed what the page says, "…" being any lines.
func same(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "…" {
		for skip := range len(got) + 1 {
			if same(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	if len(got) == 0 {
		return false
	}
	a, b := form(want[0]), form(got[0])
	return (a == b || strings.HasPrefix(a, b) && strings.HasSuffix(got[0], "…") || strings.HasPrefix(b, a) &&
		strings.HasSuffix(want[0], "…")) && same(want[1:], got[1:])
}

// lines returns the lines that are not empty at the end of an output.
func lines(output string) []string {
	output = strings.TrimRight(output, "\n ")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// ids keeps which id of this run stands for which id of a page.
type ids map[string]string

var shortened = regexp.MustCompile(`\b[0-9a-f]{4,12}\b`)

// in puts the ids of this run into a command: whole ones and their beginnings.
func (m ids) in(command string) string {
	command = uuids.ReplaceAllStringFunc(command, func(old string) string {
		if now, ok := m[old]; ok {
			return now
		}
		return old
	})
	return shortened.ReplaceAllStringFunc(command, func(old string) string {
		for of, now := range m {
			if strings.HasPrefix(of, old) && !strings.Contains(command, now) {
				return now[:8]
			}
		}
		return old
	})
}

// back puts the ids of the page in the places of those of this run.
func (m ids) back(line string) string {
	for old, now := range m {
		line = strings.ReplaceAll(line, now, old)
	}
	return line
}

// learn remembers the ids that were printed in the places of those of the page.
func (m ids) learn(page, now []string) {
	old, fresh := uuids.FindAllString(strings.Join(page, "\n"), -1), uuids.FindAllString(strings.Join(now, "\n"), -1)
	for i := range min(len(old), len(fresh)) {
		if m[old[i]] == "" {
			m[old[i]] = fresh[i]
		}
	}
}

// session runs the commands of a session, each until it prints what the page says, for what it asks for may still be under
// way, and returns the session as it went.
func (s *service) session(t *testing.T, file string, all []step, known ids) string {
	t.Helper()
	var went strings.Builder
	for _, one := range all {
		want := lines(s.names.Replace(strings.Join(one.output, "\n")))
		deadline, tick := time.Now().Add(forOutput()), time.NewTicker(300*time.Millisecond)
		asks := regexp.MustCompile(`list|show|timeline|events|status|diff|doctor|deliveries|ledger|storage ` +
			`[a-z]+$|views|readyz`).MatchString(one.command)
		var got []string
		for {
			out, _ := s.run(t, "sh", known.in(s.names.Replace(one.command))) // a command that fails says so in what it prints
			got = lines(out)
			if same(want, got) || !asks || time.Now().After(deadline) {
				break
			}
			<-tick.C
		}
		tick.Stop()
		if !*update {
			require.True(t, same(want, got), "%s: $ %s\nprints\n%s\nand the page says\n%s\nwrite it anew with go -C test test ./tutorials -update",
				file, one.command, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		known.learn(want, got)
		went.WriteString("$ " + one.command + "\n")
		if same(want, got) {
			got = one.output
		}
		for _, line := range got {
			went.WriteString(known.back(s.pages.Replace(line)) + "\n")
		}
	}
	return went.String()
}

// part is what a page of sessions holds, in its order: a fence, or a comment about the next one. "before" is what is run
// first, "not run" why it is not run.
var part = regexp.MustCompile("(?ms)<!-- (before|not run): (.+?) -->|^```([a-z]*)\n(.*?)^```\n")

// sessions runs the sessions and the shell examples of a page in their order, and compares, or with -update writes, what
// they print.
func (s *service) sessions(t *testing.T, file string, known ids) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	page, written, skip, variables, printed, ran := string(raw), string(raw), false, "", "", 0
	for _, m := range part.FindAllStringSubmatch(page, -1) {
		comment, text, language, body := m[1], m[2], m[3], m[4]
		switch {
		case comment == "before":
			out, err := s.run(t, "sh", variables+known.in(s.names.Replace(text)))
			require.NoError(t, err, "%s: before: %s\n%s", file, text, out)
			known.learn(lines(text), lines(out))
		case comment == "not run":
			skip = true
			continue
		case skip:
		case language == "sh":
			out, err := s.run(t, "sh", variables+known.in(s.names.Replace(body)))
			require.NoError(t, err, "%s: %s\n%s", file, body, out)
			for _, line := range assignment.FindAllString(body, -1) {
				variables += line + "\n"
			}
			ran++
			printed = out
		case language == "json" && printed != "":
			if out := s.pages.Replace(printed); *update && shape(out) != shape(body) {
				written = strings.Replace(written, body, wrapped(strings.TrimRight(out, "\n")+"\n"), 1)
			} else {
				require.Equal(t, shape(body), shape(out), "%s: what an example prints; write it anew with go -C test test ./tutorials -update", file)
			}
			printed = ""
		case language == "" && strings.HasPrefix(body, "$ "):
			if went := s.session(t, file, steps(body), known); *update {
				written = strings.Replace(written, body, went, 1)
			}
			ran++
		default:
			require.False(t, strings.Contains(body, "$ millrace "), "%s: a session begins with its command:\n%s", file, body)
		}
		skip = false
	}
	require.Positive(t, ran, "%s has no example that is run", file)
	if written != page {
		require.NoError(t, os.WriteFile(file, []byte(written), 0o644))
	}
}

// TestSessionsOfOperatorsPrintWhatThePagesSay runs the examples of the pages for operators on a service of its own, in the
// order in which they are read.
func TestSessionsOfOperatorsPrintWhatThePagesSay(t *testing.T) {
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); errors.Is(err, exec.ErrNotFound) {
			t.Skipf("SKIPPED: %s is not installed", program)
		}
	}
	s, known := start(t), ids{}
	for _, file := range []string{"operating.md", "accounts.md", "model-calls.md", "webhooks.md", "comfyui-servers.md", "runbook.md"} {
		t.Run(file, func(t *testing.T) { s.sessions(t, filepath.Join("..", "..", "docs", file), known) })
	}
}

func TestLinesOfASessionAreComparedByTheirForm(t *testing.T) {
	t.Parallel()
	require.True(t, same([]string{"a 1 of 2", "…", "z"}, []string{"a 7 of 9", "b", "c", "z"}))
	require.False(t, same([]string{"a 1 of 2", "…", "z"}, []string{"a 7 of 9", "b", "c"}))
	require.False(t, same([]string{"job succeeded"}, []string{"job failed"}))
	require.True(t, same([]string{"ran  3.50 s  vm/20184"}, []string{"ran 12 ms host/31/97c7"}))
	require.Equal(t, []step{{command: "a", output: []string{"b", "c"}}, {command: "d"}}, steps("$ a\nb\nc\n$ d\n"))
	known := ids{}
	known.learn([]string{"0a917b76-a668-4b88-8c90-fdfc7489a9a3"}, []string{"11112222-a668-4b88-8c90-fdfc7489a9a3"})
	require.Equal(t, "jobs show 11112222", known.in("jobs show 0a91"))
}
