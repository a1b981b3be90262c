package credentials

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

// oneKey knows one credential, and fails when it is asked about "outage".
type oneKey string

// Authenticate implements Authenticator.
func (k oneKey) Authenticate(_ context.Context, secret string) (account.Identity, error) {
	switch secret {
	case string(k):
		return account.Identity{Account: "a"}, nil
	case "outage":
		return account.Identity{}, errors.New("the database is down")
	}
	return account.Identity{}, fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "no such key")
}

// Clients send keys of this service under the names of Comfy.org's as well: those never leave it.
func TestAKeyOfThisServiceIsGivenToNoServer(t *testing.T) {
	t.Parallel()
	j := &Running{Keys: oneKey("ours"), Mode: account.ModeKeys}
	given, err := j.foreign(t.Context(), map[string]string{"api_key_comfy_org": "ours", "auth_token_comfy_org": "theirs"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"auth_token_comfy_org": "theirs"}, given)
	_, err = j.foreign(t.Context(), map[string]string{"api_key_comfy_org": "outage"})
	require.Error(t, err, "a credential that could not be checked stays here")
	j.Mode = account.ModeNone
	given, err = j.foreign(t.Context(), map[string]string{"api_key_comfy_org": "ours"})
	require.NoError(t, err)
	require.Len(t, given, 1, "without authentication there are no keys of this service")
}

// keys identifies each credential by its text.
type keys map[string]account.Identity

func (k keys) Authenticate(_ context.Context, secret string) (account.Identity, error) {
	id, ok := k[secret]
	if !ok {
		return id, fault.New(fault.Unauthenticated, fault.CodeUnauthorized, "no such key")
	}
	return id, nil
}

var someKeys = keys{
	"mine":   {Account: "a", Scopes: []account.Scope{account.ScopeWrite}, Access: account.Access{Off: true}},
	"theirs": {Account: "b", Scopes: []account.Scope{account.ScopeWrite}},
	"reader": {Account: "a", Scopes: []account.Scope{account.ScopeRead}},
}

// A graph that calls partners' models needs a key that may write, and is of the account that submits it.
func TestTheKeyOfASubmissionIsOneOfItsAccount(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]fault.Code{
		"mine": "", "": fault.CodeCredentialRequired, "theirs": fault.CodeInvalidCredential, "reader": fault.CodeInvalidCredential,
		"unknown": fault.CodeInvalidCredential,
	} {
		require.Equal(t, want, fault.CodeOf(Submitted{Keys: someKeys}.Check(t.Context(), "a", key)), key)
	}
	require.ErrorContains(t, Submitted{Keys: oneKey("x")}.Check(t.Context(), "a", "outage"), "the database is down")
}

// kept are the sealed credentials of one job.
type kept struct {
	sealed string
	err    error
	closed error
}

func (k kept) Sealed(context.Context, job.ID) ([]byte, error) { return []byte(k.sealed), k.err }

func (k kept) Open(_ string, sealed []byte) (string, error) { return string(sealed), k.closed }

// What a running node may do is what the key of its submission allows now.
func TestANodeHasTheAccessOfItsKey(t *testing.T) {
	t.Parallel()
	whole, foreign := job.Secrets{Credential: "mine"}.Text(), job.Secrets{Credential: "theirs"}.Text()
	none := job.Secrets{ComfyOrg: map[string]string{"api_key_comfy_org": "x"}}.Text()
	away := errors.New("the database is down")
	for name, c := range map[string]struct {
		kept kept
		code fault.Code
		err  error
	}{
		"a key":                     {kept{sealed: whole}, "", nil},
		"a key of another account":  {kept{sealed: foreign}, fault.CodeInvalidCredential, nil},
		"other credentials only":    {kept{sealed: none}, fault.CodeCredentialRequired, nil},
		"none":                      {kept{err: fault.New(fault.NotFound, "", "none")}, fault.CodeCredentialRequired, nil},
		"a database that is away":   {kept{sealed: whole, err: away}, "", away},
		"a seal that does not open": {kept{sealed: whole, closed: away}, "", away},
	} {
		r := &Running{Jobs: c.kept, Sealer: c.kept, Keys: someKeys}
		access, err := r.Access(t.Context(), job.RunRef{Job: "j", Account: "a"})
		require.Equal(t, c.code, fault.CodeOf(err), name)
		switch {
		case c.err != nil:
			require.ErrorIs(t, err, c.err, name)
		case c.code == "":
			require.NoError(t, err, name)
			require.True(t, access.Off, name)
		}
	}
}

// A server that is not chosen gets no credential, nor does any for a job without one; one that cannot be read is an error.
func TestAChosenServerHasTheCredentialsOfTheJob(t *testing.T) {
	t.Parallel()
	comfy := map[string]string{"api_key_comfy_org": "x"}
	whole, away := job.Secrets{ComfyOrg: comfy}.Text(), errors.New("the database is down")
	for name, c := range map[string]struct {
		kept    kept
		address string
		want    map[string]string
		err     error
	}{
		"a chosen server":         {kept{sealed: whole}, "http://s", comfy, nil},
		"another server":          {kept{sealed: whole}, "http://t", nil, nil},
		"none":                    {kept{err: fault.New(fault.NotFound, "", "none")}, "http://s", nil, nil},
		"a database that is away": {kept{sealed: whole, err: away}, "http://s", nil, away},
	} {
		r := &Running{Jobs: c.kept, Sealer: c.kept, Keys: someKeys, Mode: account.ModeKeys, Chosen: []string{"http://s"}}
		got, err := r.ForServer(t.Context(), job.RunRef{Job: "j", Account: "a"}, c.address)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.want, got, name)
	}
}

// Credentials that cannot be read, or checked, are an error: no server gets any.
func TestCredentialsThatCannotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	ref := job.RunRef{Job: "j", Account: "a"}
	running := func(sealed string, keys Authenticator) *Running {
		k := kept{sealed: sealed}
		return &Running{Jobs: k, Sealer: k, Keys: keys, Mode: account.ModeKeys, Chosen: []string{"http://s"}}
	}
	broken := running("\x00{", someKeys)
	_, err := broken.Access(t.Context(), ref)
	require.Error(t, err)
	given, err := broken.ForServer(t.Context(), ref, "http://s")
	require.Error(t, err)
	require.Nil(t, given)
	outage := running(job.Secrets{Credential: "outage", ComfyOrg: map[string]string{"api_key_comfy_org": "outage"}}.Text(), oneKey("x"))
	given, err = outage.ForServer(t.Context(), ref, "http://s")
	require.ErrorContains(t, err, "the database is down")
	require.Nil(t, given)
	access, err := outage.Access(t.Context(), ref)
	require.ErrorContains(t, err, "the database is down")
	require.Zero(t, access)
}
