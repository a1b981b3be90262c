//go:build linux

package load

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// Deployment is the name of a deployment of DeployedGraph, and DeployedInputs are its inputs.
const Deployment = "load"

// DeployedGraph saves one picture under the prefix of the call and in its colour.
const DeployedGraph = `{"1":{"class_type":"EmptyImage","inputs":{"width":64,"height":64,"batch_size":1,"color":0}},
	"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"load"}}}`

// DeployedInputs name the inputs of DeployedGraph.
var DeployedInputs = []string{"prompt=2.filename_prefix", "color=1.color"}

// Deployed lets the given number of clients call the deployment by every surface, and as many call it as a node of a graph. The service
// must have the deployment.
func (c *Client) Deployed(clients int) { c.deployed = clients }

// way is a surface by which clients call the deployment under a key, with inputs that depend on a name. It returns the picture, or the text
// of a refusal, or nil for an answer without a picture.
type way func(ctx context.Context, c *Client, key, name string) (status int, picture []byte)

// ways are all surfaces. The first one answers a key once.
var ways = []way{byV2, byRouter, byQueue, byOpenAI, byMCP}

// deployment calls the deployment under a key, by one surface after another, until one answers.
func (l *Load) deployment(ctx context.Context, name string, random *rand.Rand) {
	l.keyed(ctx, &Entry{Kind: "deployments", Name: name}, func(e *Entry) int {
		at := random.IntN(len(ways))
		var status int
		status, e.content = ways[at](ctx, l.client, name, name)
		e.once = at == 0 || answered(e.content)
		return status
	})
}

// class submits a graph with the deployment as a node, under a key.
func (l *Load) class(ctx context.Context, name string, _ *rand.Rand) {
	e := &Entry{Kind: "classes", Name: name, once: true}
	l.keyed(ctx, e, func(e *Entry) (status int) {
		status, e.content = l.client.Send(ctx, http.MethodPost, "/api/v2/jobs", classGraph(name), "Idempotency-Key", name)
		return status
	})
	var made struct{ ID string }
	if json.Unmarshal(e.content, &made) == nil && made.ID != "" {
		l.awaitEnd(ctx, made.ID)
	}
}

// keyed sends a request under a key until it is answered, or until the service reports that an earlier request with the
// key was answered.
func (l *Load) keyed(ctx context.Context, e *Entry, send func(e *Entry) (status int)) {
	defer func() {
		e.Cut = ctx.Err() != nil
		l.ledger.Add(e)
	}()
	for until := time.Now().Add(callWithin); time.Now().Before(until); {
		status := send(e)
		if e.Accepted = status/100 == 2 || answered(e.content); e.Accepted || !Pause(ctx, 200*time.Millisecond) {
			break
		}
	}
	if answered(e.content) {
		e.content = nil
	}
}

// answered reports whether an answer refuses a key because the v2 API has given its only answer.
func answered(answer []byte) bool {
	return bytes.Contains(answer, []byte("Idempotency-Key was already used"))
}

// judgeOnce checks that an accepted request has saved its picture, once.
func (e *Entry) judgeOnce(ctx context.Context, c *Client) (Verdict, string) {
	for _, number := range []string{"2", "1"} {
		there, err := c.hasFile(ctx, e.Name+"_0000"+number+"_.png")
		switch {
		case err != nil:
			return "", err.Error()
		case there && number == "2":
			return Doubled, "it saved its picture twice"
		case !e.Accepted:
			return Refused, ""
		case !there && number == "1":
			return "", "its picture is not there"
		}
	}
	return Right, ""
}

// judgeDeployment sends a call with its key again by every surface that repeats answers. All must get the picture of one job, or are
// refused if the v2 API has given its only answer.
func (e *Entry) judgeDeployment(ctx context.Context, c *Client) (Verdict, string) {
	if verdict, why := e.judgeOnce(ctx, c); verdict != Right {
		return verdict, why
	}
	for i, one := range ways[1:] {
		status, picture := one(ctx, c, e.Name, e.Name)
		switch {
		case e.once && answered(picture):
		case status == http.StatusOK && (e.content == nil || bytes.Equal(e.content, picture)):
			e.content = picture
		case status == http.StatusOK:
			return Failed, fmt.Sprintf("surface %d answers with another picture", i+1)
		case status == 0 || status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
			return "", fmt.Sprintf("surface %d answers with status %d", i+1, status)
		default:
			return Failed, fmt.Sprintf("surface %d answers with status %d: %s", i+1, status, picture)
		}
	}
	return e.judgeOnce(ctx, c) // a repeated call must not run again
}

func byV2(ctx context.Context, c *Client, key, name string) (int, []byte) {
	body := fmt.Appendf(nil, `{"inputs":{"prompt":%q,"color":%d}}`, name, colour(name))
	status, answer := c.Send(ctx, http.MethodPost, "/deployment/"+Deployment+"/api/v2/jobs", body, "Idempotency-Key", key)
	return status, refusal(status, answer)
}

// refusal returns an unsuccessful answer.
func refusal(status int, answer []byte) []byte {
	if status/100 == 2 {
		return nil
	}
	return answer
}

const deployedModel = "/v2/models/deployments/" + Deployment

func byRouter(ctx context.Context, c *Client, key, name string) (int, []byte) {
	body := fmt.Appendf(nil, `{"prompt":%q,"color":%d}`, name, colour(name))
	status, answer := c.Send(ctx, http.MethodPost, deployedModel, body, "Idempotency-Key", key)
	return c.routed(ctx, status, answer)
}

// byQueue does not wait for the picture.
func byQueue(ctx context.Context, c *Client, key, name string) (int, []byte) {
	body := fmt.Appendf(nil, `{"prompt":%q,"color":%d}`, name, colour(name))
	status, answer := c.Send(ctx, http.MethodPost, deployedModel+"/requests", body, "Idempotency-Key", key)
	var made struct {
		ID string `json:"request_id"`
	}
	if status/100 != 2 || json.Unmarshal(answer, &made) != nil {
		return status, answer
	}
	status, answer = c.Send(ctx, http.MethodGet, deployedModel+"/requests/"+made.ID, nil)
	if status != http.StatusOK {
		return http.StatusAccepted, nil
	}
	return c.routed(ctx, status, answer)
}

// routed returns the picture of an answer of the router.
func (c *Client) routed(ctx context.Context, status int, answer []byte) (int, []byte) {
	var made struct {
		Outputs struct{ Picture []struct{ URL string } }
	}
	if status != http.StatusOK || json.Unmarshal(answer, &made) != nil || len(made.Outputs.Picture) != 1 {
		return status, answer
	}
	return c.Send(ctx, http.MethodGet, c.ours(made.Outputs.Picture[0].URL), nil)
}

func byOpenAI(ctx context.Context, c *Client, key, name string) (int, []byte) {
	body := fmt.Appendf(nil, `{"model":%q,"prompt":%q,"color":%d,"response_format":"b64_json"}`, Deployment, name, colour(name))
	status, answer := c.Send(ctx, http.MethodPost, "/openai/v1/images/generations", body, "Idempotency-Key", key)
	var made struct {
		Data []struct {
			Picture []byte `json:"b64_json"`
		}
	}
	if status != http.StatusOK || json.Unmarshal(answer, &made) != nil || len(made.Data) != 1 {
		return status, answer
	}
	return status, made.Data[0].Picture
}

func byMCP(ctx context.Context, c *Client, key, name string) (int, []byte) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"prompt":%q,"color":%d},
		"_meta":{"idempotencyKey":%q}}}`, Deployment, name, colour(name), key)
	status, answer := c.Send(ctx, http.MethodPost, "/mcp", body, "Accept", "application/json, text/event-stream")
	lines := bytes.Split(answer, []byte("\n"))
	at := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"result"`)) })
	if status != http.StatusOK || at < 0 {
		return status, answer
	}
	var made struct {
		Result struct {
			IsError bool
			Content []struct{ Type, Data, Text string }
		}
	}
	if err := json.Unmarshal(bytes.TrimPrefix(lines[at], []byte("data: ")), &made); err != nil || len(made.Result.Content) == 0 {
		return http.StatusBadGateway, answer
	}
	if made.Result.IsError { // even for a call that cannot be recorded now
		return http.StatusServiceUnavailable, answer
	}
	picture, err := base64.StdEncoding.DecodeString(made.Result.Content[0].Data)
	if err != nil {
		return http.StatusBadGateway, answer
	}
	return status, picture
}
