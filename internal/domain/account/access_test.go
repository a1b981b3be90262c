package account_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestAccessAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access account.Access
		yes    []string
		no     []string
	}{
		"everything":   {account.Access{}, []string{"bfl/flux-2-pro", "sim/echo"}, nil},
		"nothing":      {account.Access{Models: []string{}}, nil, []string{"bfl/flux-2-pro", "sim/echo"}},
		"a provider":   {account.Access{Models: []string{"bfl/*"}}, []string{"bfl/flux-2-pro"}, []string{"bfl2/x", "sim/echo", "bf/l"}},
		"a model":      {account.Access{Models: []string{"sim/echo"}}, []string{"sim/echo"}, []string{"sim/echo-2", "sim/ech"}},
		"all but some": {account.Access{Denied: []string{"kling/*", "sim/echo"}}, []string{"sim/bytes"}, []string{"kling/v2", "sim/echo"}},
		"denial wins": {
			account.Access{Models: []string{"bfl/*"}, Denied: []string{"bfl/flux-2-pro"}},
			[]string{"bfl/flux-2-max"},
			[]string{"bfl/flux-2-pro"},
		},
		"off says no model": {account.Access{Off: true}, []string{"sim/echo"}, nil}, // whether the router is on is asked first
	} {
		for _, model := range c.yes {
			require.True(t, c.access.Allows(model), "%s: %s", name, model)
		}
		for _, model := range c.no {
			require.False(t, c.access.Allows(model), "%s: %s", name, model)
		}
	}
}

func TestListsOfModelsAreChecked(t *testing.T) {
	t.Parallel()
	check := func(a account.Access) error {
		return account.Change{Account: "a", Actor: "ops", Access: &a}.Check()
	}
	for _, good := range []string{"bfl/flux-2-pro", "bfl/*", "luma_2/uni-1", "kling/kling-3.0-turbo"} {
		require.NoError(t, check(account.Access{Models: []string{good}, Denied: []string{good}}), good)
	}
	for _, wrong := range []string{
		"", "bfl", "*", "*/*", "bfl/", "/x", "bfl/flux*", "BFL/x", "a/b/c", "bfl/*/x",
		"a/" + strings.Repeat("x", 200),
	} {
		require.Equal(t, fault.Invalid, fault.KindOf(check(account.Access{Models: []string{wrong}})), wrong)
		require.Equal(t, fault.Invalid, fault.KindOf(check(account.Access{Denied: []string{wrong}})), wrong)
	}
	require.Error(t, check(account.Access{Models: make([]string, 1001)}))
}

func TestAccessEqual(t *testing.T) {
	t.Parallel()
	require.True(t, account.Access{}.Equal(account.Access{Denied: []string{}}))
	require.False(t, account.Access{}.Equal(account.Access{Models: []string{}}), "every model is not no model")
	require.False(t, account.Access{}.Equal(account.Access{Off: true}))
	require.False(t, account.Access{}.Equal(account.Access{Denied: []string{"a/b"}}))
}

// witness is an authenticator that says its own name.
type witness string

func (w witness) Authenticate(context.Context, string) (account.Identity, error) {
	return account.Identity{Account: string(w)}, nil
}

func TestACredentialIsAKeyOrAToken(t *testing.T) {
	t.Parallel()
	either := account.KeysOrTokens{
		Keys: witness("keys"), Tokens: witness("tokens"), Shaped: func(s string) bool { return strings.Count(s, ".") == 2 },
	}
	for secret, want := range map[string]string{
		"": "keys", "millrace-abc": "keys", "comfyui-abc": "keys", "a.b.c": "tokens",
		"comfyui-a.b.c": "keys", "millrace-a.b.c": "keys", "anything": "keys",
	} {
		id, err := either.Authenticate(t.Context(), secret)
		require.NoError(t, err)
		require.Equal(t, want, id.Account, secret)
	}
}

func TestNamesOfNewAccounts(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"acme", "auth0|5f7c8ec7c33c6c004bbafe82", "jane@example.com", "Çelik & Söhne", strings.Repeat("ü", 200)} {
		require.NoError(t, account.CheckName(good), good)
	}
	for _, wrong := range []string{"", " acme", "acme ", "a\nb", "a\x00", "\u202egnp", "\xff", strings.Repeat("x", 201)} {
		require.Equal(t, fault.Invalid, fault.KindOf(account.CheckName(wrong)), "%q", wrong)
	}
}

func TestListsOfModelsAreBounded(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{1000: true, 1001: false} {
		list := slices.Repeat([]string{"sim/echo"}, n)
		for _, access := range []account.Access{{Models: list}, {Denied: list}} {
			err := account.Change{Account: "a", Actor: "ops", Access: &access}.Check()
			require.Equal(t, ok, err == nil, "%d entries: %v", n, err)
		}
	}
}
