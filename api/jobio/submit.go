// Package jobio contains the parts that the surfaces of jobs share: preparing a submission, finding the job of a
// path, and ordering and linking the files of a job. It promises that no surface records a credential of the caller.
// Each surface decides the format of a job.
package jobio

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
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
