package job

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

// Secrets are the credentials of a submission. They are stored encrypted until the job ends, and are never part of an
// event.
type Secrets struct {
	Credential string            `json:"credential,omitempty"` // for partner services
	ComfyOrg   map[string]string `json:"comfy_org,omitempty"`  // for ComfyUI servers that the operator chose, by their names in extra_data
}

// secretsLead begins the text of secrets other than a single credential. No credential contains a NUL.
const secretsLead = "\x00"

// Text returns the secrets as a text: a single credential unchanged, and "" for no secrets.
func (s Secrets) Text() string {
	if len(s.ComfyOrg) == 0 {
		return s.Credential
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return secretsLead + string(raw)
}

// ParseSecrets parses a text that Text returned.
func ParseSecrets(text string) (s Secrets, err error) {
	raw, more := strings.CutPrefix(text, secretsLead)
	if !more {
		return Secrets{Credential: text}, nil
	}
	return s, json.Unmarshal([]byte(raw), &s)
}

// Credentials checks the credential of a submission for partner services.
type Credentials interface {
	// Check returns Invalid (credential_required) for an empty credential, and Unauthenticated for a credential that
	// is invalid or of another account.
	Check(ctx context.Context, account, credential string) error
}

// usesPartners reports whether a graph has a node that calls a partner's model.
func (s *Service) usesPartners(g *graph.Graph) bool { return len(s.partners(g)) > 0 }

// partners returns the nodes that call a partner's model.
func (s *Service) partners(g *graph.Graph) []string {
	var found []string
	for _, n := range g.Nodes {
		if class, ok := s.Validator.Classes.Lookup(n.Class); ok && class.Partner {
			found = append(found, n.ID)
		}
	}
	return found
}

// checkCredential refuses a graph with partner nodes without a valid credential, unless the service runs without
// accounts.
func (s *Service) checkCredential(ctx context.Context, sub Submission, accepted *graph.Accepted) error {
	if s.Credentials == nil || !s.usesPartners(accepted.Graph) {
		return nil
	}
	return s.Credentials.Check(ctx, sub.Account, sub.Credential)
}
