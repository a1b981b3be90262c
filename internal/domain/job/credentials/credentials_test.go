package credentials

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
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
