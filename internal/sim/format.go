package sim

import (
	"embed"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// format is the wire format of one provider, as a file of formats describes it.
type format struct {
	Provider string
	Auth     struct {
		Header, Scheme string
		Refused        any // body of the 401
	}
	Refusals map[string]answer // by fault
	Routes   []route
}

// route is one address of a provider: of requests that are answered at once or submit a generation, or of the status
// of a generation.
type route struct {
	Path   string   // method and path
	Form   bool     // it accepts forms only
	Needs  []string // members that a body must have
	Answer *answer
	Submit *answer // the answer to a submission
	Kind   string  // of the submitted generation; status answers select their result by it

	Running, Failed, Refused *answer // answers about a generation; the last after a late refusal of its content
	Done                     map[string]answer
}

// answer is an answer with placeholders: a string of JSON that begins with $ is replaced (see exchange.fill).
type answer struct {
	Status  int
	JSON    any
	Bytes   string // extension of the file that is the answer
	Headers map[string]string
}

//go:embed formats/*.yaml
var formatFiles embed.FS

// formats are the providers of the files, by name.
var formats = readFormats()

func readFormats() map[string]*format {
	all := map[string]*format{}
	entries, err := formatFiles.ReadDir("formats")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, entry := range entries {
		raw, err := formatFiles.ReadFile("formats/" + entry.Name())
		if err != nil {
			panic(err)
		}
		f := &format{}
		d := yaml.NewDecoder(strings.NewReader(string(raw)))
		d.KnownFields(true)
		if err := d.Decode(f); err != nil {
			panic("the wire format " + entry.Name() + ": " + err.Error())
		}
		all[f.Provider] = f
	}
	return all
}

// formatRoutes registers the providers whose format is described in a file.
func (s *Server) formatRoutes() {
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		f := formats[name]
		auth := credential{header: f.Auth.Header, refusal: func() any { return f.Auth.Refused }}
		if f.Auth.Scheme != "" {
			auth.scheme = f.Auth.Scheme + " "
		}
		for i := range f.Routes {
			r := &f.Routes[i]
			method, path, _ := strings.Cut(r.Path, " ")
			s.handle(method+" /"+name+path, auth, func(e *exchange) reply { return f.serve(e, r) })
		}
	}
}

func (f *format) serve(e *exchange, r *route) reply {
	if r.Answer == nil && r.Submit == nil {
		return f.status(e, r)
	}
	if refused, found := f.Refusals[e.scenario.Fault]; found {
		return e.fill(refused, ticket{})
	}
	_, isForm := decodeForm(e.Header.Get("Content-Type"), nil)
	lacks := slices.ContainsFunc(r.Needs, func(name string) bool { return e.body[name] == nil || e.body[name] == "" })
	if lacks || r.Form != isForm && e.Method == http.MethodPost {
		return e.fill(f.Refusals[faultInvalid], ticket{})
	}
	if r.Answer != nil {
		out := e.fill(*r.Answer, ticket{Seed: seedOf(e.raw)})
		out.charged = e.Method == http.MethodPost
		return out
	}
	kind, ok := e.placed(r.Kind, ticket{}).(string)
	if !ok {
		kind = ""
	}
	out := e.fill(*r.Submit, e.submit(kind))
	out.charged = true
	return out
}

// status answers a request about a generation.
func (f *format) status(e *exchange, r *route) reply {
	if refused, found := f.Refusals[e.scenario.Fault]; found && e.scenario.Fault == faultDown {
		return e.fill(refused, ticket{})
	}
	t, found := e.ticket()
	switch {
	case !found:
		return fail(http.StatusNotFound, map[string]any{"message": "not found"})
	case r.Running != nil && !t.finished(e.now):
		return e.fill(*r.Running, t)
	case t.Fault == faultPolicy && r.Refused != nil:
		return e.fill(*r.Refused, t)
	case t.Fault != "" && r.Failed != nil:
		return e.fill(*r.Failed, t)
	}
	done, found := r.Done[t.Extra]
	if !found {
		done = r.Done["any"]
	}
	return e.fill(done, t)
}

// fill makes a reply of an answer. It replaces $id (of the generation), $url.png and $base64.png (its file with this
// extension), $body.name (a member of the request), $model and $base (the address of the provider) in texts that begin with it.
func (e *exchange) fill(a answer, t ticket) reply {
	out := reply{status: max(a.Status, http.StatusOK), json: e.filled(a.JSON, t), headers: a.Headers}
	if a.Bytes != "" {
		out.contentType, out.bytes = file(t.Seed, a.Bytes)
	}
	return out
}

func (e *exchange) filled(value any, t ticket) any {
	switch v := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, inner := range v {
			object[name] = e.filled(inner, t)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = e.filled(inner, t)
		}
		return list
	case string:
		return e.placed(v, t)
	}
	return value
}

func (e *exchange) placed(text string, t ticket) any {
	word, rest, _ := strings.Cut(text, "/")
	kind, of, _ := strings.Cut(word, ".")
	switch kind {
	case "$id":
		return t.id()
	case "$seed":
		return t.Seed
	case "$base":
		provider, _, _ := strings.Cut(strings.TrimPrefix(e.URL.Path, "/"), "/")
		return e.base() + "/" + provider + "/" + strings.ReplaceAll(rest, "$id", t.id())
	case "$url":
		return e.file(t.Seed, of)
	case "$base64":
		_, content := file(t.Seed, of)
		return inline(content)
	case "$body":
		return e.body[of]
	case "$model":
		return e.text("model")
	}
	return text
}
