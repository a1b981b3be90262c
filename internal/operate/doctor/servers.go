package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/engine/node/remote"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Servers reads the registry of ComfyUI servers for the checks; serverstore.Store implements it.
type Servers interface {
	Servers(ctx context.Context) ([]*server.Server, error)
	Waits(ctx context.Context) ([]server.Waiting, error)
	// Classes returns class definitions by their digest, or NotFound if they are not stored.
	Classes(ctx context.Context, digest string) ([]byte, error)
}

// ServerChecks examine the ComfyUI servers, the classes that depend on a single server, and the segments that wait
// for a server.
func ServerChecks(servers Servers) []Check {
	d := serverDoctor{servers}
	return []Check{
		{"servers", "check the database's log", d.unreachable},
		{"refused servers", "check the database's log", d.refused},
		{"server classes", "check the database's log", d.classes},
		{"server queue", "check the database's log", d.queue},
	}
}

// serverDoctor runs the checks of ComfyUI servers.
type serverDoctor struct{ Servers }

// maxNamed bounds the servers, classes or jobs that a finding lists.
const maxNamed = 3

// list joins the first few texts and gives the number of the others.
func list(texts []string) string {
	if len(texts) > maxNamed {
		return strings.Join(texts[:maxNamed], "; ") + fmt.Sprintf("; and %d more", len(texts)-maxNamed)
	}
	return strings.Join(texts, "; ")
}

// unreachable finds servers that do not answer, or answer and accept nothing. The check fails only if no other server is left.
func (d serverDoctor) unreachable(ctx context.Context) (Finding, error) {
	all, err := d.Servers.Servers(ctx)
	if err != nil {
		return Finding{}, err
	}
	if len(all) == 0 {
		return Finding{Status: Healthy, Detail: "no server is registered; only graphs of native classes run"}, nil
	}
	counts := map[server.State]int{}
	var away, troubled []string
	for _, s := range all {
		counts[s.State()]++
		if state := s.State(); state == server.Stuck || state == server.Resting {
			troubled = append(troubled, terminal.Clean(s.URL)+" "+terminal.Clean(s.Trouble()))
		}
		if s.Health == server.Absent {
			away = append(away, terminal.Clean(s.URL)+unreachableSince(s)+": "+terminal.Clean(s.Trouble()))
		}
	}
	var words []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%d %s", counts[state], state))
	}
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("%d registered: %s", len(all), strings.Join(words, ", "))}
	if len(away) > 0 {
		f.Status, f.Detail = grade(len(away), 1, len(all)), f.Detail+". Away: "+list(away)
	}
	if len(troubled) > 0 {
		f.Status, f.Detail = grade(len(troubled)+len(away), 1, len(all)), f.Detail+". Accept nothing: "+list(troubled)
	}
	return f.with("start it, or check that workers reach its address; if it no longer exists: millrace servers remove URL --reason WHY"), nil
}

func unreachableSince(s *server.Server) string {
	if s.SeenAt == nil {
		return ", never seen"
	}
	return ", last seen " + inspect.Span(time.Since(*s.SeenAt)) + " ago"
}

// refused finds unsupported servers, with the reason and the version.
func (d serverDoctor) refused(ctx context.Context) (Finding, error) {
	all, err := d.Servers.Servers(ctx)
	if err != nil {
		return Finding{}, err
	}
	var refused []string
	remedy := "upgrade it to ComfyUI 0.3.57 or later, or correct its address; then: millrace servers show URL"
	for _, s := range all {
		if s.Health != server.Unusable {
			continue
		}
		text := terminal.Clean(s.URL)
		if s.Version != "" {
			text += " (version " + terminal.Clean(s.Version) + ")"
		}
		refused = append(refused, text+": "+terminal.Clean(s.Problem))
		if strings.Contains(s.Problem, "certificate") {
			remedy = "give the server a certificate that the workers' machines trust, or add its issuer to their trust store"
		}
	}
	if len(refused) == 0 {
		return leftOut(all), nil
	}
	return Finding{Status: Warning, Detail: fmt.Sprintf("%d cannot be used: %s", len(refused), list(refused)), Remedy: remedy}, nil
}

// leftOut finds servers of which some classes cannot be used.
func leftOut(all []*server.Server) Finding {
	var texts []string
	for _, s := range all {
		if s.Health == server.Answers && s.Problem != "" {
			texts = append(texts, terminal.Clean(s.URL)+": "+terminal.Clean(s.Problem))
		}
	}
	if len(texts) == 0 {
		return Finding{Status: Healthy, Detail: "none: every server that answers is supported"}
	}
	return Finding{
		Status: Warning, Detail: "every server that answers is supported, but not all of their classes: " + list(texts),
		Remedy: "update or remove the node pack that defines the class on the server; all its other classes can be used",
	}
}

// classes finds classes, other than native ones, that no answering server has: graphs that need them wait.
func (d serverDoctor) classes(ctx context.Context) (Finding, error) {
	all, err := d.Servers.Servers(ctx)
	if err != nil {
		return Finding{}, err
	}
	documents, damaged, err := d.documents(ctx, all)
	if err != nil {
		return Finding{}, err
	}
	if len(damaged) > 0 {
		return Finding{
			Status: Warning, Detail: "stored class definitions cannot be read, so no graph can use them: " + list(damaged),
			Remedy: "the next check of a server that answers stores them again; start the server, or remove it: millrace servers remove URL",
		}, nil
	}
	native, err := standard.Registry(nil)
	if err != nil {
		return Finding{}, err
	}
	answering, missing := map[string]bool{}, map[string][]string{}
	for _, s := range all {
		if doc := documents[s.Digest]; doc != nil && s.Health == server.Answers {
			for name := range doc.Classes {
				answering[name] = true
			}
		}
	}
	for _, s := range all {
		if documents[s.Digest] == nil || s.Health == server.Answers {
			continue
		}
		for name := range documents[s.Digest].Classes {
			if _, here := native.Lookup(name); !here && !answering[name] {
				missing[name] = append(missing[name], terminal.Clean(s.URL))
			}
		}
	}
	if len(missing) == 0 {
		return Finding{Status: Healthy, Detail: fmt.Sprintf("%d, each on a server that answers", len(answering))}, nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		where := fmt.Sprintf("%d servers", len(missing[name]))
		if len(missing[name]) == 1 {
			where = missing[name][0]
		}
		names = append(names, terminal.Clean(name)+" on "+where)
	}
	return Finding{
		Status: Warning, Detail: fmt.Sprintf("%d classes are only on servers that do not answer, so graphs with them wait: %s", len(missing),
			list(names)),
		Remedy: "start the server, or install the nodes on one that answers",
	}, nil
}

// documents reads the class definitions of servers, by digest. It names the servers whose definitions cannot be read.
func (d serverDoctor) documents(ctx context.Context, all []*server.Server) (map[string]*remote.Document, []string, error) {
	documents, damaged := map[string]*remote.Document{}, []string(nil)
	for _, s := range all {
		if s.Digest == "" || documents[s.Digest] != nil {
			continue
		}
		body, err := d.Classes(ctx, s.Digest)
		if fault.Is(err, fault.NotFound) {
			continue // the next probe will store them
		}
		if fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
			return nil, nil, err
		}
		var doc *remote.Document
		if err == nil {
			doc, err = placement.DecodeClasses(s.Digest, body)
		}
		if err != nil {
			damaged = append(damaged, terminal.Clean(s.URL)+": "+terminal.Clean(err.Error()))
			continue
		}
		documents[s.Digest] = doc
	}
	return documents, damaged, nil
}

// waitWarn is the time that a segment may wait for an existing server.
const waitWarn = 15 * time.Minute

// queue finds segments that no registered server could run, and segments that have waited for long.
func (d serverDoctor) queue(ctx context.Context) (Finding, error) {
	waiting, err := d.Waits(ctx)
	if err != nil {
		return Finding{}, err
	}
	if len(waiting) == 0 {
		return Finding{Status: Healthy, Detail: "no segment waits for a server"}, nil
	}
	all, err := d.Servers.Servers(ctx)
	if err != nil {
		return Finding{}, err
	}
	documents, _, err := d.documents(ctx, all)
	if err != nil {
		return Finding{}, err
	}
	var never, long []string
	for i := range waiting {
		w := &waiting[i]
		text := fmt.Sprintf("job %s for %s: %s", w.Job, inspect.Span(time.Since(w.Since)), terminal.Clean(w.Reason))
		switch {
		case !possible(all, documents, &w.Wait):
			never = append(never, text)
		case time.Since(w.Since) > waitWarn:
			long = append(long, text)
		}
	}
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("%d parts of graphs wait for a server", len(waiting))}
	switch {
	case len(never) > 0:
		f.Status = Failing
		f.Detail += fmt.Sprintf(", %d of them for a class, model or label that no registered server has: %s", len(never), list(never))
	case len(long) > 0:
		f.Status = Warning
		f.Detail += fmt.Sprintf(", %d of them for over %s: %s", len(long), inspect.Span(waitWarn), list(long))
	}
	return f.with("register a server that has the missing part (millrace servers add), install it on one, or cancel the job: millrace jobs " +
		"cancel ID"), nil
}

// possible reports whether some registered server could run a segment if it answered and were not draining.
func possible(all []*server.Server, documents map[string]*remote.Document, w *server.Wait) bool {
	pool := server.Pool{Servers: all, Missing: func(s *server.Server, needs []server.Need) string {
		return placement.Missing(documents[s.Digest], needs)
	}}
	return pool.CanRun(w)
}
