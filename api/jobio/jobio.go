// Package jobio contains the parts that the surfaces of jobs share: preparing a submission, finding the job of a
// path, and ordering and linking the files of a job. It promises that no surface records a credential of the caller.
// Each surface decides the format of a job.
package jobio

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Commands accepts commands on jobs; job.Service implements it.
type Commands interface {
	// Submit records a validated graph as a job; see job.Service.
	Submit(ctx context.Context, sub job.Submission) (job.Submitted, error)
	// CancelMany asks jobs to stop, pending and running ones, and returns those that were active.
	CancelMany(ctx context.Context, account string, ids []job.ID, requestID string) ([]job.ID, error)
	// CancelAs is CancelMany with the actor and the reason to record.
	CancelAs(ctx context.Context, r job.CancelRequest) ([]job.ID, error)
	// ClearPending cancels all queued jobs of the account and returns them.
	ClearPending(ctx context.Context, account, requestID string) ([]job.ID, error)
	// Interrupt asks the running job with an id to stop; "" = all running jobs.
	Interrupt(ctx context.Context, account string, only job.ID, requestID string) ([]job.ID, error)
}

// MaxClientID bounds the id that a client chooses for itself, in bytes: events, views and messages repeat it.
const MaxClientID = 128

// MaxMembers bounds the values in the body of a submission: 10,000 nodes with their inputs, and the editor's workflow
// in extra_data.
const MaxMembers = 1_000_000

// Prepare runs the checks that all surfaces share. It returns the submission for the caller's account, without
// credentials, so that it may be recorded.
func Prepare(c *gin.Context, e *edge.Edge, sub job.Submission) (job.Submission, error) {
	secret, err := e.RequestSecret(c)
	if err != nil {
		return job.Submission{}, err
	}
	return PrepareFor(edge.Caller(c), secret, edge.RequestID(c), sub)
}

// PrepareFor is Prepare for a caller who presented secret.
func PrepareFor(caller account.Identity, secret, requestID string, sub job.Submission) (job.Submission, error) {
	if !caller.Active || caller.Tier == account.TierFree {
		return job.Submission{}, fault.New(fault.Exhausted, fault.CodeSubscriptionInactive, "an active subscription is required to run workflows")
	}
	if err := checkTexts(sub); err != nil {
		return job.Submission{}, err
	}
	sub.Account, sub.RequestID = caller.Account, requestID
	redactSecrets(&sub, append(slices.Collect(maps.Values(sub.ComfyOrg)), sub.Credential, secret)...)
	return sub, nil
}

// checkTexts refuses NUL characters in the values that are recorded beside the graph: no query can compare them.
// Texts inside a graph may contain them, as in the self-hosted runtime.
func checkTexts(sub job.Submission) error {
	if strings.ContainsRune(sub.ClientID, 0) {
		return httperr.Invalidf("client_id must not contain NUL characters")
	}
	for _, id := range sub.Targets {
		if strings.ContainsRune(id, 0) {
			return httperr.Invalidf("partial_execution_targets must not contain NUL characters")
		}
	}
	for name, value := range sub.Metadata {
		if strings.ContainsRune(name, 0) || strings.ContainsRune(value, 0) {
			return fault.New(fault.Invalid, fault.CodeMetadataInvalid, "metadata must not contain NUL characters")
		}
	}
	for name, value := range sub.ExtraData {
		if strings.ContainsRune(name, 0) || request.HasNUL(value) {
			return httperr.Invalidf("extra_data must not contain NUL characters")
		}
	}
	return nil
}

// credentialFields are the names under which clients send a service key in extra_data. The first is the contract's
// name, the second its public alias.
func credentialFields() []string {
	return []string{"api_key_service", "api_key_comfy_org", "auth_token_comfy_org"}
}

// SplitCredential returns the credential in extra_data and the other fields, never nil.
func SplitCredential(extra map[string]json.RawMessage) (credential string, rest map[string]json.RawMessage) {
	rest = make(map[string]json.RawMessage, len(extra))
	for name, value := range extra {
		rest[name] = value
	}
	for _, name := range credentialFields() {
		var text string
		if json.Unmarshal(rest[name], &text) == nil && credential == "" {
			credential = text
		}
		delete(rest, name)
	}
	return credential, rest
}

// ComfyOrg returns the credentials of Comfy.org in extra_data, by name. The partner classes of ComfyUI servers read
// them.
func ComfyOrg(extra map[string]json.RawMessage) map[string]string {
	var named map[string]string
	for _, name := range credentialFields()[1:] {
		var text string
		if json.Unmarshal(extra[name], &text) == nil && text != "" {
			if named == nil {
				named = map[string]string{}
			}
			named[name] = text
		}
	}
	return named
}

// minRedacted is the length from which a secret is replaced wherever it occurs. A shorter secret, such as a token
// chosen for a trial, may be an ordinary word.
const minRedacted = 16

// withheld replaces a secret.
const withheld = "withheld"

// redactSecrets replaces the caller's secrets in the recorded values: editors copy their key into the settings of the
// graph, and the event log is never rewritten.
func redactSecrets(sub *job.Submission, secrets ...string) {
	secrets = slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < minRedacted })
	if len(secrets) == 0 {
		return
	}
	sub.Prompt = redactJSON(sub.Prompt, secrets)
	for name, value := range sub.ExtraData {
		sub.ExtraData[name] = redactJSON(value, secrets)
	}
	for name, value := range sub.Metadata {
		sub.Metadata[name] = redactText(value, secrets)
	}
	for name, value := range sub.Inputs {
		sub.Inputs[name] = redactJSON(value, secrets)
	}
}

func redactText(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, withheld)
	}
	return text
}

// redactJSON replaces secrets in the strings of a document. It compares decoded strings, because every character may be
// written in several ways.
func redactJSON(document json.RawMessage, secrets []string) json.RawMessage {
	var out []byte // the document up to done; nil = unchanged
	done := 0
	for at := 0; at < len(document); at++ {
		if document[at] != '"' {
			continue
		}
		begin := at
		for at++; at < len(document) && document[at] != '"'; at++ {
			if document[at] == '\\' {
				at++
			}
		}
		end := min(at+1, len(document))
		var text string
		if end-begin < minRedacted || json.Unmarshal(document[begin:end], &text) != nil {
			continue
		}
		if redacted := redactText(text, secrets); redacted != text {
			quoted, _ := json.Marshal(redacted) // a string always has a form in JSON
			out = append(append(out, document[done:begin]...), quoted...)
			done = end
		}
	}
	if out == nil {
		return document
	}
	return append(out, document[done:]...)
}

// IsNull reports whether a member of a JSON object is absent or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Reader reads the jobs of accounts; jobs.Reader implements it. Its results are never older than the log.
type Reader interface {
	// ByPublicID returns the job of the account with a public id, Job that with an id of the service. An unknown job is NotFound.
	ByPublicID(ctx context.Context, account string, id job.PublicID) (job.Job, error)
	Job(ctx context.Context, account string, id job.ID) (job.Job, error)
	// IDs returns the ids of the account's jobs with some public ids. An unknown public id is left out or returned
	// unchanged.
	IDs(ctx context.Context, account string, public []job.PublicID) ([]job.ID, error)
	// PublicIDs returns the public ids of some jobs, in the order of ids.
	PublicIDs(ctx context.Context, ids []job.ID) ([]job.PublicID, error)
	// List returns jobs, newest first.
	List(ctx context.Context, account string, q jobs.Query) (jobs.Page, error)
	// ListAt returns the jobs that o selects, with the number of all.
	ListAt(ctx context.Context, account string, o jobs.Order) ([]job.Job, int64, error)
	// Line returns the account's unfinished jobs in run order, page by page.
	Line(ctx context.Context, account string, q jobs.Line) (jobs.LinePage, error)
}

// Sources reads submissions as they were accepted, without credentials; job.Sources implements it.
type Sources interface {
	Load(ctx context.Context, account string, id job.ID) (job.Source, error)
	// LoadWithin is Load of at most so many bytes; whole is false for a larger one.
	LoadWithin(ctx context.Context, account string, id job.ID, most int64) (src job.Source, whole bool, err error)
}

// Find returns the caller's job that the path names. A malformed id and the id of another account's job are NotFound.
func Find(c *gin.Context, reader Reader) (job.Job, error) {
	id, err := job.ParsePublicID(c.Param("id"))
	if err != nil {
		return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
	}
	j, err := reader.ByPublicID(c.Request.Context(), edge.Caller(c).Account, id)
	if err == nil && !OfMount(c, j) {
		return job.Job{}, fault.New(fault.NotFound, fault.CodeJobNotFound, "no such job")
	}
	if err == nil && edge.Mount(c) != nil {
		edge.NameVersion(c, j.Deployment.Name, j.Deployment.Version)
	}
	return j, err
}

// Queue reads the queue of an account; jobstore.Store implements it.
type Queue interface {
	// Remaining returns how many of the account's jobs have not ended.
	Remaining(ctx context.Context, account string) (int64, error)
	// QueuePositions returns the number of queued jobs that run before each of some jobs. Jobs that are not queued are absent.
	QueuePositions(ctx context.Context, account string, ids []job.ID) (map[job.ID]int64, error)
}

// QueuePosition returns the number of queued jobs that run before j: 0 = j is next, nil = j is not queued.
func QueuePosition(ctx context.Context, queue Queue, j job.Job) (*int64, error) {
	positions, err := QueuePositions(ctx, queue, j.Account, []job.Job{j})
	return positions[j.ID], err
}

// QueuePositions is QueuePosition for several jobs of an account. Jobs that are not queued are absent.
func QueuePositions(ctx context.Context, queue Queue, account string, list []job.Job) (map[job.ID]*int64, error) {
	var ids []job.ID
	for _, j := range list {
		if j.State == job.Queued {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ahead, err := queue.QueuePositions(ctx, account, ids)
	positions := make(map[job.ID]*int64, len(ahead))
	for id, n := range ahead {
		positions[id] = &n
	}
	return positions, err
}

// Steps reads the progress inside running nodes; livestore.Progress implements it.
type Steps interface {
	Steps(ctx context.Context, id job.ID, run int) (map[string]stream.Step, error)
}

// Progress returns the progress of j, including the progress inside its running nodes. If steps is nil, progress is
// counted in whole nodes.
func Progress(ctx context.Context, steps Steps, j job.Job) (*stream.Progress, error) {
	if len(j.Running) == 0 || steps == nil {
		return stream.ProgressOf(j, "", nil), nil
	}
	known, err := steps.Steps(ctx, j.ID, j.Run)
	return stream.ProgressOf(j, "", known), err
}

// Links makes links to stored files that need no credential.
type Links interface {
	// Sign returns the path and query of a link to the content of an asset, and when the link expires.
	Sign(asset, hash, filename, contentType string) (path string, expires time.Time)
}

// OutputBody is a file of a job in the form of the v2 surface.
type OutputBody struct {
	NodeID       string       `json:"node_id"`
	Name         string       `json:"name"`
	Type         string       `json:"type"`
	ContentType  string       `json:"content_type"`
	SizeBytes    int64        `json:"size_bytes"`
	ID           string       `json:"id"`
	Hash         *string      `json:"hash"`
	URL          string       `json:"url"`
	URLExpiresAt string       `json:"url_expires_at"`
	JobID        job.PublicID `json:"job_id"`
}

// Output is one file of a job with the node that made it.
type Output struct {
	Node string
	File job.OutputFile
}

// Outputs returns a job's files in the order of every read: saved files before previews, then by node in document
// order, then in the order of the node's list.
func Outputs(j job.Job) []Output {
	var all []Output
	for _, n := range j.Outputs {
		for _, f := range n.Files {
			all = append(all, Output{n.Node, f})
		}
	}
	rank := func(o Output) int {
		at := slices.Index(j.Targets, o.Node)
		if at < 0 {
			at = len(j.Targets)
		}
		if o.File.Folder != "output" {
			at += len(j.Targets) + 1
		}
		return at
	}
	slices.SortStableFunc(all, func(a, b Output) int { return rank(a) - rank(b) })
	return all
}

// RenderOutput renders a file of a job with a new link below base.
func RenderOutput(links Links, base string, id job.PublicID, o Output) OutputBody {
	path, expires := links.Sign(o.File.Asset, o.File.Hash, o.File.Filename, o.File.ContentType)
	body := OutputBody{
		NodeID: o.Node, Name: o.File.Filename, Type: OutputType(o.File), ContentType: o.File.ContentType,
		SizeBytes: o.File.Size, ID: o.File.Asset, URL: base + path, URLExpiresAt: edge.Timestamp(expires), JobID: id,
	}
	if o.File.Hash != "" {
		body.Hash = &o.File.Hash
	}
	return body
}

// OutputType returns the kind of a file, one of the closed set of the v2 surface.
func OutputType(f job.OutputFile) string {
	if strings.HasSuffix(f.Filename, ".latent") {
		return "latent"
	}
	kind, _, _ := strings.Cut(f.ContentType, "/")
	switch kind {
	case "image", "video", "audio", "text":
		return kind
	default:
		return "file"
	}
}

// Waits reads why segments of jobs wait for ComfyUI servers; serverstore.Store implements it.
type Waits interface {
	// WaitsOf returns the waiting segments of some jobs, in the order in which they will be placed.
	WaitsOf(ctx context.Context, ids []job.ID) ([]server.Waiting, error)
}

// Servers reads the ComfyUI servers and the segments that wait for one; serverstore.Store implements it.
type Servers interface {
	Servers(ctx context.Context) ([]*server.Server, error)
	Waits(ctx context.Context) ([]server.Waiting, error)
}

// WaitingBody describes why a running job waits for a ComfyUI server, or for a slot with which it may use one.
type WaitingBody struct {
	Reason string `json:"reason"`
	Place  int    `json:"place,omitempty"` // in the queue for servers; 1 = next; absent while it waits for a slot
}

// Waiting returns why jobs wait for servers or for slots, by job. Jobs that do not wait are left out.
func Waiting(ctx context.Context, waits Waits, list ...job.Job) (map[job.ID]*WaitingBody, error) {
	var ids []job.ID
	for _, j := range list {
		if len(j.Waiting) > 0 && !j.State.Final() {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := waits.WaitsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	bodies := make(map[job.ID]*WaitingBody, len(ids))
	for _, w := range found {
		if bodies[w.Job] == nil {
			bodies[w.Job] = &WaitingBody{Reason: anonymous(w.Reason), Place: w.Ahead + 1}
		}
	}
	for _, j := range list {
		at := slices.IndexFunc(j.Waiting, func(w job.SegmentWait) bool { return w.Slot })
		if at >= 0 && !j.State.Final() && bodies[j.ID] == nil {
			bodies[j.ID] = &WaitingBody{Reason: j.Waiting[at].Reason}
		}
	}
	return bodies, nil
}

// address matches the address of a server in a reason. Only operators may see addresses of servers.
var address = regexp.MustCompile(`server https?://\S*[^\s:;,]`)

func anonymous(reason string) string { return address.ReplaceAllString(reason, "a server") }
