package app

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/model/partner"
	"github.com/millrace-dev/millrace/internal/model/provider"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// extendClasses makes node classes of the models of a catalog.
func (in *Instance) extendClasses(s *catalog.Snapshot) error {
	classes, err := partner.Classes(s)
	if err != nil {
		return err
	}
	originals, err := partner.Originals(s, in.offers().Runnable)
	if err != nil {
		return err
	}
	return in.classes.Extend(append(classes, originals...)...)
}

// partners are what nodes of partner models run through.
func (in *Instance) partners() (*activities.Partners, error) {
	keys, err := in.linkKeys()
	if err != nil {
		return nil, err
	}
	signer, err := signedurl.New(keys, signedurl.Options{})
	if err != nil {
		return nil, err
	}
	p := &activities.Partners{
		Calls: in.service, Base: in.cfg.PublicURL, Log: in.log,
		Content: answerContent{catalog: in.catalog, fetch: outbound.New(outbound.Options{}), blobs: in.blobs, signer: signer},
	}
	if p.Base == "" {
		p.Base = "http://" + in.cfg.Addr
	}
	if in.cfg.Auth != account.ModeKeys {
		return p, nil
	}
	p.Access, err = in.jobCredentials()
	return p, err
}

// jobCredentials opens the credentials of running jobs.
func (in *Instance) jobCredentials() (jobCredentials, error) {
	auth, err := in.authenticator()
	if err != nil {
		return jobCredentials{}, err
	}
	sealer, err := in.key.Sealer()
	return jobCredentials{jobs: in.jobs, sealer: sealer, auth: auth, mode: in.cfg.Auth, chosen: in.cfg.Servers.ComfyOrg}, err
}

// credentials check submissions with partner nodes; nil without accounts.
func (in *Instance) credentials() (job.Credentials, error) {
	if in.cfg.Auth != account.ModeKeys {
		return nil, nil // job.Service takes it for "none needed"
	}
	auth, err := in.authenticator()
	return submitted{auth}, err
}

// submitted checks the credential of a submission.
type submitted struct{ auth edge.Authenticator }

// Check implements job.Credentials.
func (s submitted) Check(ctx context.Context, owner, credential string) error {
	if credential == "" {
		return fault.New(fault.Invalid, fault.CodeCredentialRequired,
			"the graph calls a partner's model: put an API key of this account into extra_data.api_key_service (or api_key_comfy_org)")
	}
	_, err := identified(ctx, s.auth, owner, credential)
	return err
}

// identified returns what a credential stands for, and Unauthenticated when that is not the account.
func identified(ctx context.Context, auth edge.Authenticator, owner, credential string) (account.Identity, error) {
	id, err := auth.Authenticate(ctx, credential)
	if err == nil && (id.Account != owner || !id.Allows(account.ScopeWrite)) || fault.Is(err, fault.Unauthenticated) {
		return id, fault.New(fault.Unauthenticated, fault.CodeInvalidCredential, "the key in extra_data is not a valid key of this account")
	}
	return id, err
}

// jobCredentials opens the credentials of running jobs. They stay within one call.
type jobCredentials struct {
	jobs   *jobstore.Store
	sealer *secret.Sealer
	auth   edge.Authenticator
	mode   account.Mode
	chosen []string // addresses of the servers that are given credentials of Comfy.org
}

// open returns the credentials of a job that has not ended; NotFound when it has none.
func (j jobCredentials) open(ctx context.Context, id job.ID) (job.Secrets, error) {
	sealed, err := j.jobs.Sealed(ctx, id)
	if err != nil {
		return job.Secrets{}, err
	}
	text, err := j.sealer.Open(string(id), sealed)
	if err != nil {
		return job.Secrets{}, err
	}
	return job.ParseSecrets(text)
}

// ForServer implements activities.ServerCredentials. What is a credential of this service is for nobody else: clients put
// it under the same names.
func (j jobCredentials) ForServer(ctx context.Context, ref job.RunRef, address string) (map[string]string, error) {
	if !slices.Contains(j.chosen, address) {
		return nil, nil //nolint:nilnil // none
	}
	secrets, err := j.open(ctx, ref.Job)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // none
	}
	if err != nil {
		return nil, err
	}
	return j.foreign(ctx, secrets.ComfyOrg)
}

// foreign returns the credentials that are not of this service.
func (j jobCredentials) foreign(ctx context.Context, named map[string]string) (map[string]string, error) {
	if j.mode == account.ModeNone {
		return named, nil
	}
	foreign := make(map[string]string, len(named))
	for name, value := range named {
		_, err := j.auth.Authenticate(ctx, value)
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

// Access implements activities.NodeAccess.
func (j jobCredentials) Access(ctx context.Context, ref job.RunRef) (account.Access, error) {
	secrets, err := j.open(ctx, ref.Job)
	if fault.Is(err, fault.NotFound) || err == nil && secrets.Credential == "" {
		return account.Access{}, fault.Wrap(err, fault.Unauthenticated, fault.CodeCredentialRequired, "the job came without extra_data.api_key_service, which partner nodes need")
	}
	if err != nil {
		return account.Access{}, err
	}
	id, err := identified(ctx, j.auth, ref.Account, secrets.Credential)
	return id.Access, err
}

// answerContent opens what addresses in answers point to: our own copies by their links, everything else
// at the provider.
type answerContent struct {
	catalog *catalog.Catalog
	fetch   *outbound.Client
	blobs   blob.Store
	signer  *signedurl.Signer
}

// Fetch implements activities.NodeContent.
func (a answerContent) Fetch(ctx context.Context, model, address string) (node.ModelAnswer, error) {
	if grant, ours := a.granted(address); ours {
		r, err := a.blobs.Open(ctx, grant.Hash)
		if err != nil {
			return node.ModelAnswer{}, fmt.Errorf("open a copied asset of %s: %w", model, err)
		}
		return node.ModelAnswer{ContentType: grant.ContentType, Content: r}, nil
	}
	m, ok := a.catalog.Find(model, "")
	if !ok { // it has left the catalog
		m = &catalog.Model{}
	}
	content, err := provider.Fetch(ctx, a.fetch, m, os.LookupEnv, address)
	if err != nil {
		return node.ModelAnswer{}, fault.Wrap(err, fault.Conflict, fault.CodePartnerFetch, "the result of %s cannot be fetched from its provider", model)
	}
	return node.ModelAnswer{ContentType: content.ContentType, Content: content}, nil
}

// granted reports whether an address is a link of our own making, and what it leads to.
func (a answerContent) granted(address string) (signedurl.Grant, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return signedurl.Grant{}, false
	}
	_, rest, found := strings.Cut(u.Path, signedurl.Prefix)
	asset, filename, two := strings.Cut(rest, "/")
	if !found || !two {
		return signedurl.Grant{}, false
	}
	grant, err := a.signer.Verify(asset, filename, u.Query())
	return grant, err == nil
}
