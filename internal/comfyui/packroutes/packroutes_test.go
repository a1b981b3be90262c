package packroutes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/comfyui/packroutes"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestRulesAllowTheirRoutesOnly(t *testing.T) {
	t.Parallel()
	rules, err := packroutes.ParseRules("GET /vhs/viewvideo, POST /pack/*,")
	require.NoError(t, err)
	r := packroutes.New(packroutes.Options{Rules: rules})
	for request, want := range map[string]bool{
		"GET /vhs/viewvideo":             true,
		"GET /api/vhs/viewvideo":         true,
		"POST /vhs/viewvideo":            false,
		"GET /vhs/viewvideo/more":        false,
		"GET /vhs":                       false,
		"POST /pack/a/b":                 true,
		"POST /api/pack/a":               true,
		"POST /pack":                     false,
		"POST /packed/a":                 false,
		"PUT /pack/a":                    false,
		"POST /pack/../prompt":           false,
		"POST /pack//a":                  false,
		`POST /pack/..\prompt`:           false,
		"POST /pack/%2e%2e/prompt":       false,
		"GET /api/etn/translate/de/text": true,
		"GET /prompt":                    false,
	} {
		method, path, _ := strings.Cut(request, " ")
		require.Equal(t, want, r.Allows(method, path), request)
	}
	for _, wrong := range []string{"DELETE /a", "GET", "GET a", "GET /", "GET /*", "GET /api/*", "GET /a/../b", "GET /a*", "/a"} {
		_, err := packroutes.ParseRules(wrong)
		require.Error(t, err, wrong)
	}
}

// pool has two servers that answer, and one that does not.
type pool struct {
	asked map[server.ID][]comfyui.PackRequest
}

func (p *pool) Servers() []*server.Server {
	return []*server.Server{
		{ID: "a", Health: server.Answers, Leases: []server.Lease{{Key: server.Key{Job: "runs"}}}},
		{ID: "b", Health: server.Answers},
		{ID: "away"},
	}
}

func (p *pool) Server(id server.ID) (comfyui.Server, *server.Server, error) {
	return fake{pool: p, id: id}, nil, nil
}

type fake struct {
	comfyui.Server
	pool *pool
	id   server.ID
}

func (f fake) Ask(_ context.Context, r comfyui.PackRequest, _ int64) (*comfyui.PackAnswer, error) {
	f.pool.asked[f.id] = append(f.pool.asked[f.id], r)
	empty := io.NopCloser(strings.NewReader(""))
	return &comfyui.PackAnswer{Status: http.StatusOK, Download: comfyui.Download{ReadCloser: empty}}, nil
}

type jobs struct{}

func (jobs) ByPublicID(_ context.Context, account string, id job.PublicID) (job.Job, error) {
	if account != "owner" {
		return job.Job{}, fault.New(fault.NotFound, fault.CodeNotFound, "there is no such job")
	}
	return job.Job{ID: job.ID(id)}, nil
}

type usage struct{}

func (usage) LastServer(_ context.Context, of job.ID) (string, error) {
	return map[job.ID]string{"ended": "b", "elsewhere": "away"}[of], nil
}

func TestARequestGoesToTheServerOfItsJob(t *testing.T) {
	t.Parallel()
	rules, err := packroutes.ParseRules("GET /p/*, POST /p/*")
	require.NoError(t, err)
	relay := func(q packroutes.Request) (map[server.ID][]comfyui.PackRequest, error) {
		p := &pool{asked: map[server.ID][]comfyui.PackRequest{}}
		q.Path = "/p/x"
		answer, err := packroutes.New(packroutes.Options{Rules: rules, Pool: p, Jobs: jobs{}, Usage: usage{}}).Relay(t.Context(), q)
		if err == nil {
			require.NoError(t, answer.Close())
		}
		return p.asked, err
	}
	for id, want := range map[string]server.ID{"runs": "a", "ended": "b"} {
		asked, err := relay(packroutes.Request{Account: "owner", Job: id, Method: http.MethodPost})
		require.NoError(t, err, id)
		require.Len(t, asked, 1, id)
		require.Len(t, asked[want], 1, id)
	}
	for account, id := range map[string]string{"other": "runs", "owner": "elsewhere"} {
		asked, err := relay(packroutes.Request{Account: account, Job: id, Method: http.MethodGet})
		require.True(t, fault.Is(err, fault.NotFound), "%s %s: %v", account, id, err)
		require.Empty(t, asked)
	}
	asked, err := relay(packroutes.Request{Account: "owner", Method: http.MethodGet})
	require.NoError(t, err)
	require.Len(t, asked, 1, "one server answers")
	asked, err = relay(packroutes.Request{Account: "owner", Method: http.MethodPost, Body: []byte("x")})
	require.NoError(t, err)
	require.Len(t, asked, 2, "what may change something is sent to all servers")
	_, err = relay(packroutes.Request{Account: "owner", Method: http.MethodPut})
	require.True(t, fault.Is(err, fault.NotFound))
}

// libraries are servers whose tooling nodes list models, by the names of the servers.
type libraries map[server.ID]library

func (l libraries) Servers() (all []*server.Server) {
	for _, id := range slices.Sorted(maps.Keys(l)) {
		all = append(all, &server.Server{ID: id, Health: server.Answers})
	}
	return all
}

func (l libraries) Server(id server.ID) (comfyui.Server, *server.Server, error) {
	return l[id], nil, nil
}

type library struct {
	comfyui.Server
	models []string
	old    bool // its nodes know no pages
}

func (l library) Ask(_ context.Context, r comfyui.PackRequest, _ int64) (*comfyui.PackAnswer, error) {
	if l.models == nil {
		return &comfyui.PackAnswer{Status: http.StatusNotFound, Download: comfyui.Download{ReadCloser: http.NoBody}}, nil
	}
	info, part := map[string]any{}, l.models
	if !l.old {
		offset, err := strconv.Atoi(r.Query.Get("offset"))
		limit, failed := strconv.Atoi(r.Query.Get("limit"))
		if err = errors.Join(err, failed); err != nil || limit > 2 {
			return nil, fmt.Errorf("a page of %d models: %w", limit, err)
		}
		part = part[min(offset, len(part)):min(offset+limit, len(part))]
		info["_meta"] = map[string]int{"offset": offset, "count": len(part), "total": len(l.models)}
	}
	for _, name := range part {
		info[name] = map[string]string{"base_model": "sd15"}
	}
	raw, err := json.Marshal(info)
	return &comfyui.PackAnswer{Status: http.StatusOK, Download: comfyui.Download{ReadCloser: io.NopCloser(bytes.NewReader(raw))}}, err
}

// A server reads the files of a page only: it may take minutes to read all of them, and a client does not wait for that long.
func TestModelsOfAllServersAreListedByPages(t *testing.T) {
	t.Parallel()
	r := packroutes.New(packroutes.Options{Pool: libraries{
		"a": {models: []string{"a1", "a2", "a3"}}, "b": {}, "c": {models: []string{"c1", "c2", "c3"}, old: true}, "d": {models: []string{"d1"}},
	}})
	var names []string
	for offset, total := 0, 1; offset < total; offset += 2 {
		page, err := r.ModelInfo(t.Context(), "checkpoints", offset, 2)
		require.NoError(t, err)
		require.Equal(t, 7, page.Total)
		require.Len(t, page.ByName, page.Count)
		names, total = append(names, slices.Sorted(maps.Keys(page.ByName))...), page.Total
	}
	require.Equal(t, []string{"a1", "a2", "a3", "c1", "c2", "c3", "d1"}, names)
}
