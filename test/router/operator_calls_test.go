package router_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// leaveUnknown writes the events of a call whose process died while it sent the request.
func (c *client) leaveUnknown(account string, mode call.Mode) call.ID {
	c.t.Helper()
	pool, err := postgres.Open(c.t.Context(), fmt.Sprintf("host=%s port=5432 user=millrace dbname=millrace",
		filepath.Join(c.data, "postgres", "run")), postgres.PoolOptions{MaxConns: 1})
	require.NoError(c.t, err)
	defer pool.Close()
	types := eventlog.NewRegistry()
	require.NoError(c.t, call.Register(types))
	id := call.ID(uuid.NewString())
	_, err = eventstore.New(pool, types, nil).Append(c.t.Context(), eventlog.Append{
		Stream: id.Stream(), Account: account, Expected: 0,
		Events: []eventlog.Event{
			{
				ID: call.EventID(id, 0, call.TypeAccepted), Type: call.TypeAccepted,
				Data: call.AcceptedV1{Model: "sim/echo", Provider: "sim", Mode: mode, API: call.V2, Held: 40_000},
			},
			{ID: call.EventID(id, 0, call.TypeOutcomeUnknown), Type: call.TypeOutcomeUnknown, Data: call.OutcomeUnknownV1{
				Model: "sim/echo", Failure: call.Failure{Type: call.InternalError, Status: 500, Detail: "interrupted"},
			}},
		},
	})
	require.NoError(c.t, err)
	return id
}

// operated is a part of the admin API's answer.
func (c *client) operated(path, part string, into any) {
	c.t.Helper()
	r := c.operate("GET", path, "")
	require.Equal(c.t, 200, r.status, "%s: %s", path, r.body)
	var answer map[string]json.RawMessage
	require.NoError(c.t, json.Unmarshal([]byte(r.body), &answer))
	require.NoError(c.t, json.Unmarshal(answer[part], into), r.body)
}

// for calls, over HTTP.
func TestOperatorsReadWhatBecameOfACallOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	account := c.id(t)
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/echo", `{"prompt":"x"}`).status)
	require.Equal(t, 200, c.do("POST", "/v2/models/sim/open", `{}`).status)
	var found []call.Call
	c.until("both calls are listed as ended", func() bool {
		c.operated("/calls?status=succeeded&status=failed&account="+account, "calls", &found)
		return len(found) == 2
	})
	require.Equal(t, []string{"sim/open", "sim/echo"}, []string{found[0].Model, found[1].Model}, "newest first")
	var first []call.Call
	c.operated("/calls?limit=1&account="+account, "calls", &first)
	var before int64
	c.operated("/calls?limit=1&account="+account, "next_before", &before)
	var second []call.Call
	c.operated(fmt.Sprintf("/calls?limit=1&account=%s&before=%d", account, before), "calls", &second)
	require.Equal(t, []call.ID{found[0].ID, found[1].ID}, []call.ID{first[0].ID, second[0].ID}, "page by page")
	c.operated("/calls?model=sim/echo&account="+account, "calls", &first)
	require.Equal(t, []call.ID{found[1].ID}, []call.ID{first[0].ID})

	path := "/calls/" + string(found[1].ID)
	var then, now call.Call
	c.operated(path+"?at=1", "call", &then)
	c.operated(path, "call", &now)
	require.Equal(t, []any{int64(1), call.Succeeded}, []any{then.Version, now.State})
	require.NotEqual(t, then.State, now.State)
	var events []struct{ Type, State string }
	c.operated(path+"/events", "events", &events)
	require.Equal(t, []string{call.TypeAccepted, "succeeded"}, []string{events[0].Type, events[len(events)-1].State})
	var phases []struct{ Phase string }
	c.operated(path+"/timeline", "phases", &phases)
	require.NotEmpty(t, phases)
	var differences []struct{ What, A, B string }
	c.operated(path+"/diff?with="+string(found[0].ID), "state", &differences)
	require.Contains(t, differences, struct{ What, A, B string }{"model", "sim/echo", "sim/open"})
	var steps []struct{ Type string }
	c.operated(path+"/workflow", "workflow", &steps)
	require.Equal(t, "WorkflowExecutionStarted", steps[0].Type)
	var days []struct {
		Model     string
		Succeeded int64
	}
	c.until("both calls are added up", func() bool {
		c.operated("/calls/usage?since=48h&account="+account, "usage", &days)
		return len(days) == 2
	})
}

func TestOperatorsSettleACallOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	account := c.id(t)
	id := c.leaveUnknown(account, call.Sync)
	path := "/calls/" + string(id) + "/reconcile"
	require.Equal(t, 400, c.operate("POST", path, `{"charged_usd":"0.03"}`).status, "who and why")
	require.Equal(t, 404, c.operate("POST", "/calls/"+string(id[:8])+"/reconcile",
		`{"actor":"kim","reason":"ticket 4","charged_usd":"0.03"}`).status, "a change names the whole id")
	r := c.operate("POST", path, `{"actor":"kim","reason":"ticket 4","charged_usd":"0.03"}`)
	require.Equal(t, 200, r.status, r.body)
	var settled struct{ Call call.Call }
	require.NoError(t, json.Unmarshal([]byte(r.body), &settled))
	require.EqualValues(t, 30_000, *settled.Call.Charged)
	require.Equal(t, 1, c.count(t, "millrace", `select count(*) from events where type = 'call.reconciled.v1' and stream = 'call-' || $1
		and meta->>'actor' = 'admin:kim' and meta->>'reason' = 'ticket 4' and meta->>'request_id' <> ''`, string(id)))
	again := c.operate("POST", path, `{"actor":"kim","reason":"ticket 4","charged_usd":"0.03"}`)
	require.Equal(t, 409, again.status, again.body)
	require.Contains(t, again.body, "call_settled")
}

// A queued call of unknown outcome answers its state, and the answer that an operator attaches.
func TestAnOperatorAttachesTheAnswerOfAQueuedCall(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := c.leaveUnknown(c.id(t), call.Queued)
	request := "/v2/models/sim/echo/requests/" + string(id)
	status := c.do("GET", request+"/status", "")
	require.Equal(t, 200, status.status, status.body)
	require.Contains(t, status.body, `"status":"COMPLETED"`)
	require.Contains(t, status.body, `"error_type":"internal_error"`)
	result := c.do("GET", request, "")
	require.Equal(t, 409, result.status, "the same answer for ever: not a 500, which asks to try again: %s", result.body)
	require.Contains(t, result.body, "unknown")

	reconcile := func(body string) int { return c.operate("POST", "/calls/"+string(id)+"/reconcile", body).status }
	require.Equal(t, 400, reconcile(`{"charged_usd":"0.03","answer":"{","actor":"kim","reason":"seen"}`), "not a document")
	require.Equal(t, 400, reconcile(`{"charged_usd":"0.03","answer":"{}","free_key":true,"actor":"kim","reason":"seen"}`))
	require.Equal(t, 200, reconcile(`{"charged_usd":"0.03","answer":"{\"id\":\"7\"}","actor":"kim","reason":"seen"}`))
	require.Equal(t, 409, reconcile(`{"charged_usd":"0.03","actor":"kim","reason":"again"}`))
	result = c.do("GET", request, "")
	require.Equal(t, 200, result.status, result.body)
	require.JSONEq(t, `{"id":"7"}`, result.body)
	var events []struct{ Type, Actor, Reason string }
	c.operated("/calls/"+string(id)+"/events", "events", &events)
	last := events[len(events)-1]
	require.Equal(t, []string{call.TypeSucceeded, "seen"}, []string{last.Type, last.Reason})
}
