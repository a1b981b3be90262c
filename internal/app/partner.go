package app

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/job/credentials"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/nodeclass"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// extendClasses makes node classes of the models of a catalog.
func (in *Instance) extendClasses(s *catalog.Snapshot) error {
	classes, err := nodeclass.Classes(s)
	if err != nil {
		return err
	}
	originals, err := nodeclass.Originals(s, in.offers().Runnable)
	if err != nil {
		return err
	}
	return in.classes.Extend(append(classes, originals...)...)
}

// partners returns the parts with which nodes of partner models run.
func (in *Instance) partners() (*activities.Partners, error) {
	signer, err := in.signer()
	if err != nil {
		return nil, err
	}
	p := &activities.Partners{
		Calls: in.service, Base: in.cfg.PublicURL, Log: in.log,
		Content: answerSource{catalog: in.catalog, fetch: outbound.New(outbound.Options{}), blobs: in.blobs, signer: signer},
	}
	p.Base = cmp.Or(p.Base, "http://"+in.cfg.Addr)
	if in.settings.mode != account.ModeKeys {
		return p, nil
	}
	p.Access, err = in.jobCredentials()
	return p, err
}

// jobCredentials returns the service that decrypts the credentials of running jobs.
func (in *Instance) jobCredentials() (*credentials.Running, error) {
	auth, err := in.authenticator()
	if err != nil {
		return nil, err
	}
	sealer, err := in.key.Sealer()
	return &credentials.Running{Jobs: in.jobs, Sealer: sealer, Keys: auth, Mode: in.settings.mode, Chosen: in.settings.comfyOrg}, err
}

// credentials returns the check of submissions with partner nodes, or nil if there are no accounts.
func (in *Instance) credentials() (job.Credentials, error) {
	if in.settings.mode != account.ModeKeys {
		return nil, nil // job.Service takes it for "none needed"
	}
	auth, err := in.authenticator()
	return credentials.Submitted{Keys: auth}, err
}

// answerSource opens addresses in answers: copies of this service by their links, all others at the provider.
type answerSource struct {
	catalog *catalog.Catalog
	fetch   *outbound.Client
	blobs   blob.Store
	signer  *signedurl.Signer
}

// Fetch implements activities.NodeContent.
func (a answerSource) Fetch(ctx context.Context, model, address string) (node.ModelAnswer, error) {
	if grant, ours := a.granted(address); ours {
		r, err := a.blobs.Open(ctx, grant.Hash)
		if err != nil {
			return node.ModelAnswer{}, fmt.Errorf("open a copied asset of %s: %w", model, err)
		}
		return node.ModelAnswer{ContentType: grant.ContentType, Content: r}, nil
	}
	m, ok := a.catalog.Find(model, "")
	if !ok { // the model has left the catalog
		m = &catalog.Model{}
	}
	content, err := provider.Fetch(ctx, a.fetch, m, providerKeys, address)
	if err != nil {
		return node.ModelAnswer{}, fault.Wrap(err, fault.Conflict, fault.CodePartnerFetch,
			"the result of %s cannot be fetched from its provider", model)
	}
	return node.ModelAnswer{ContentType: content.ContentType, Content: content}, nil
}

// granted reports whether an address is a link that this service has signed, and returns its target.
func (a answerSource) granted(address string) (signedurl.Grant, bool) {
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
