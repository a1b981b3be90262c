// Package credentials checks and opens the credentials of jobs: keys of this service, with which nodes call partner
// models, and credentials of Comfy.org, with which ComfyUI servers do. It promises that a credential gives only its
// owner's rights, that no server gets a key of this service, and that only servers named by the operator get
// credentials. The store encrypts and stores credentials.
package credentials

import (
	"context"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Authenticator checks keys of this service.
type Authenticator interface {
	// Authenticate returns the identity of a secret's owner, or Unauthenticated if the secret is not a valid key of
	// this service.
	Authenticate(ctx context.Context, secret string) (account.Identity, error)
}

// Submitted checks the credential of a submission.
type Submitted struct{ Keys Authenticator }

// Check implements job.Credentials.
func (s Submitted) Check(ctx context.Context, owner, credential string) error {
	if credential == "" {
		return fault.New(fault.Invalid, fault.CodeCredentialRequired,
			"the graph calls a partner's model: put an API key of this account into extra_data.api_key_service (or api_key_comfy_org)")
	}
	_, err := identified(ctx, s.Keys, owner, credential)
	return err
}

// identified returns the identity of a credential, or Unauthenticated if the credential is not one of owner.
func identified(ctx context.Context, keys Authenticator, owner, credential string) (account.Identity, error) {
	id, err := keys.Authenticate(ctx, credential)
	if err == nil && (id.Account != owner || !id.Allows(account.ScopeWrite)) || fault.Is(err, fault.Unauthenticated) {
		return id, fault.New(fault.Unauthenticated, fault.CodeInvalidCredential, "the key in extra_data is not a valid key of this account")
	}
	return id, err
}

// Jobs stores the encrypted credentials of jobs.
type Jobs interface {
	// Sealed returns the encrypted credentials of a job that has not ended, or NotFound if it has none.
	Sealed(ctx context.Context, id job.ID) ([]byte, error)
}

// Sealer decrypts a secret that was encrypted for an owner.
type Sealer interface {
	Open(owner string, sealed []byte) (string, error)
}

// Running opens the credentials of running jobs. It does not keep them beyond a call.
type Running struct {
	Jobs   Jobs
	Sealer Sealer
	Keys   Authenticator
	Mode   account.Mode
	Chosen []string // addresses of the servers that get credentials of Comfy.org
}

// open returns the credentials of a job that has not ended, or NotFound if it has none.
func (r *Running) open(ctx context.Context, id job.ID) (job.Secrets, error) {
	sealed, err := r.Jobs.Sealed(ctx, id)
	if err != nil {
		return job.Secrets{}, err
	}
	text, err := r.Sealer.Open(string(id), sealed)
	if err != nil {
		return job.Secrets{}, err
	}
	return job.ParseSecrets(text)
}

// Access implements activities.NodeAccess.
func (r *Running) Access(ctx context.Context, ref job.RunRef) (account.Access, error) {
	secrets, err := r.open(ctx, ref.Job)
	if fault.Is(err, fault.NotFound) || err == nil && secrets.Credential == "" {
		return account.Access{}, fault.Wrap(err, fault.Unauthenticated, fault.CodeCredentialRequired,
			"the submission had no extra_data.api_key_service, which partner nodes need")
	}
	if err != nil {
		return account.Access{}, err
	}
	id, err := identified(ctx, r.Keys, ref.Account, secrets.Credential)
	return id.Access, err
}

// ForServer implements activities.ServerCredentials. It leaves out keys of this service, which clients send under the
// same names.
func (r *Running) ForServer(ctx context.Context, ref job.RunRef, address string) (map[string]string, error) {
	if !slices.Contains(r.Chosen, address) {
		return nil, nil //nolint:nilnil // no credentials
	}
	secrets, err := r.open(ctx, ref.Job)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // no credentials
	}
	if err != nil {
		return nil, err
	}
	return r.foreign(ctx, secrets.ComfyOrg)
}

// foreign returns the credentials that are not keys of this service.
func (r *Running) foreign(ctx context.Context, named map[string]string) (map[string]string, error) {
	if r.Mode == account.ModeNone {
		return named, nil
	}
	foreign := make(map[string]string, len(named))
	for name, value := range named {
		_, err := r.Keys.Authenticate(ctx, value)
		if err == nil {
			continue
		}
		if !fault.Is(err, fault.Unauthenticated) {
			return nil, err
		}
		foreign[name] = value
	}
	return foreign, nil
}
