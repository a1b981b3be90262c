package job_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// sealer marks what it seals with its owner.
type sealer struct{}

func (sealer) Seal(owner, secret string) []byte { return []byte(owner + "/" + secret) }

// The credential of a submission is stored sealed for its job; credentials of Comfy.org only where servers may have them.
func TestTheCredentialOfASubmissionIsSealed(t *testing.T) {
	t.Parallel()
	comfy := map[string]string{"api_key_comfy_org": "k"}
	for name, c := range map[string]struct {
		credential string
		forServers bool
		want       job.Secrets
	}{
		"none":        {"", false, job.Secrets{}},
		"a key":       {"key", false, job.Secrets{Credential: "key"}},
		"for servers": {"key", true, job.Secrets{Credential: "key", ComfyOrg: comfy}},
	} {
		p := newPast(t)
		p.Service.Sealer, p.Service.ForServers = sealer{}, c.forServers
		_, err := p.Service.Submit(t.Context(), job.Submission{
			Account: "a", Prompt: json.RawMessage(`{"1":{"class_type":"Show","inputs":{"text":"x","sizes":"y"}}}`),
			Credential: c.credential, ComfyOrg: comfy,
		})
		require.NoError(t, err, name)
		n := p.store.jobs[0]
		want := c.want.Text()
		if want != "" {
			want = string(n.ID) + "/" + want
		}
		require.Equal(t, want, string(n.Sealed), name)
		require.Equal(t, c.credential != "", n.Submitted.Credential, name)
	}
}

// The seconds of a node that calls a partner are not charged a second time: the price of a metered job names these nodes.
func TestThePriceOfAJobNamesItsPartnerNodes(t *testing.T) {
	t.Parallel()
	for price, want := range map[int64][]string{0: nil, 5: {"2"}} {
		p := newPast(t)
		p.Service.Price = job.Price{NodeSecond: price}
		_, err := p.Service.Submit(t.Context(), job.Submission{Account: "a", Prompt: json.RawMessage(
			`{"1":{"class_type":"Show","inputs":{"text":"x","sizes":"y"}},"2":{"class_type":"Ask","inputs":{"text":"x","sizes":"y"}}}`,
		)})
		require.NoError(t, err)
		require.Equal(t, want, p.store.jobs[0].Price.Partners)
	}
}

// slots is a store of an account with running jobs, or one that cannot be asked.
type slots struct {
	job.Store
	running  []job.ID
	away     error
	canceled []job.ID
}

func (s *slots) WithSlot(context.Context, string) ([]job.ID, error) { return s.running, s.away }

func (s *slots) Cancel(_ context.Context, r job.CancelRequest) ([]job.ID, error) {
	s.canceled = append(s.canceled, r.IDs...)
	return r.IDs, nil
}

// An interruption ends the running jobs, or one of them, and never one that does not run.
func TestAnInterruptionEndsWhatRuns(t *testing.T) {
	t.Parallel()
	away := fault.New(fault.Unavailable, "", "the database is away")
	for name, c := range map[string]struct {
		store slots
		only  job.ID
		want  []job.ID
	}{
		"all":                    {slots{running: []job.ID{"1", "2"}}, "", []job.ID{"1", "2"}},
		"one":                    {slots{running: []job.ID{"1", "2"}}, "2", []job.ID{"2"}},
		"one that does not run":  {slots{running: []job.ID{"1"}}, "2", nil},
		"the database is absent": {slots{away: away}, "", nil},
	} {
		done, err := job.NewService(job.Deps{Store: &c.store}).Interrupt(t.Context(), "a", c.only, "r")
		require.ErrorIs(t, err, c.store.away, name)
		require.Equal(t, c.want, done, name)
		require.Equal(t, c.want, c.store.canceled, name)
	}
}

// The refusal of a model that no server has says where the drawing of the workflow found it.
func TestARefusedModelIsNamedWithItsSource(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	drawing := json.RawMessage(`{"workflow":{"nodes":[{"properties":{"models":[
		{"name":"other.safetensors","url":"https://example.com/other"},
		{"name":"a.safetensors","url":"https://example.com/a","directory":"checkpoints"}]}}]}}`)
	for sent, source := range map[string]string{
		"a.safetensors": "https://example.com/a", "sub/a.safetensors": "https://example.com/a", "b.safetensors": "",
	} {
		_, err := p.Service.Submit(t.Context(), job.Submission{
			Account: "a", Prompt: json.RawMessage(`{"1":{"class_type":"Load","inputs":{"ckpt_name":"` + sent + `"}}}`),
			ExtraData: map[string]json.RawMessage{"extra_pnginfo": drawing},
		})
		var refused *graph.PromptError
		require.ErrorAs(t, err, &refused, sent)
		details := refused.NodeErrors[0].Errors[0].Details
		if source == "" {
			require.NotContains(t, details, "example.com", sent)
		} else {
			require.Contains(t, details, "the file is at "+source+" and belongs in the folder checkpoints", sent)
		}
	}
}
