package job

import (
	"context"

	"github.com/millrace-dev/millrace/internal/engine/graph"
)

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
