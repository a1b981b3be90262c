package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

var errAway = errors.New("the database is away")

// An identity has the rights of its scopes; one with scopes of deployments may call these and do nothing else.
func TestAnIdentityHasTheRightsOfItsScopes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scopes  []account.Scope
		read    bool
		limited bool
		calls   bool // the deployment portrait
	}{
		"none":             {nil, false, false, true},
		"read":             {[]account.Scope{account.ScopeRead}, true, false, true},
		"write":            {[]account.Scope{account.ScopeWrite}, false, false, true},
		"a deployment":     {[]account.Scope{account.CallScope("portrait")}, false, true, true},
		"another":          {[]account.Scope{account.CallScope("portrait-2")}, false, true, false},
		"two of them":      {[]account.Scope{account.CallScope("x"), account.CallScope("portrait")}, false, true, true},
		"graphs and reads": {[]account.Scope{account.ScopeGraphs, account.ScopeRead}, true, false, true},
	} {
		id := account.Identity{Scopes: c.scopes}
		require.Equal(t, []bool{c.read, c.limited, c.calls}, []bool{id.Allows(account.ScopeRead), id.Limited(), id.Calls("portrait")}, name)
	}
	require.Equal(t, account.Scope("deployment:portrait"), account.CallScope("portrait"))
	for _, s := range []string{"read", "write", "graphs"} {
		got, err := account.ParseScope(s)
		require.NoError(t, err)
		require.Equal(t, account.Scope(s), got)
	}
	for _, s := range []string{"", "deployment:x", "admin"} {
		got, err := account.ParseScope(s)
		require.EqualError(t, err, fmt.Sprintf("scope %q is not one of read, write, graphs", s))
		require.Empty(t, got)
	}
	require.Equal(t, account.Identity{
		Account: "local", Tier: account.TierLocal, Active: true, Scopes: []account.Scope{account.ScopeRead, account.ScopeWrite},
	}, account.Local())
	got, err := account.Anyone{}.Authenticate(t.Context(), "whatever")
	require.NoError(t, err)
	require.Equal(t, account.Local(), got)
}

// vault stores keys by their hashes.
type vault struct {
	account.Store
	keys map[account.KeyHash]account.Key
	err  error
	seen int
}

func (v *vault) AddKey(_ context.Context, key account.Key, hash account.KeyHash) error {
	if v.err == nil {
		v.keys[hash] = key
	}
	return v.err
}

func (v *vault) IdentityByKey(_ context.Context, hash account.KeyHash) (account.Identity, error) {
	v.seen++
	key, ok := v.keys[hash]
	if !ok {
		return account.Identity{}, fault.New(fault.NotFound, "", "no key")
	}
	return account.Identity{Account: key.Account, Scopes: key.Scopes, Key: key.Prefix}, nil
}

// A key is stored under the hash of its secret, opens its account, and is not shown if it could not be stored.
func TestAKeyOpensItsAccount(t *testing.T) {
	t.Parallel()
	v := &vault{keys: map[account.KeyHash]account.Key{}}
	both := []account.Scope{account.ScopeRead, account.ScopeWrite}
	one := []account.Scope{account.CallScope("x")}
	for _, c := range []struct{ given, want []account.Scope }{{nil, both}, {both[:1], both[:1]}, {one, one}} {
		secret, key, err := account.Issue(t.Context(), v, account.Key{Account: "acme", Scopes: c.given})
		require.NoError(t, err)
		require.Equal(t, key, v.keys[account.HashKey(secret)])
		require.Equal(t, c.want, key.Scopes)
		require.NotEmpty(t, key.ID)
		require.Regexp(t, `^millrace-[a-z2-7]{40}$`, secret)
		require.Equal(t, secret[:len("millrace-")+6], key.Prefix)
		require.True(t, account.IsKey(secret))
		id, err := account.NewKeys(v).Authenticate(t.Context(), secret)
		require.NoError(t, err)
		require.Equal(t, account.Identity{Account: "acme", Scopes: c.want, Key: key.Prefix}, id)
	}
	v.err = errAway
	secret, key, err := account.Issue(t.Context(), v, account.Key{Account: "acme"})
	require.ErrorIs(t, err, errAway)
	require.Empty(t, secret)
	require.Zero(t, key)
	v.seen = 0
	for secret, says := range map[string]string{
		"": "a credential is required", "x": "the credential is not valid", strings.Repeat("x", 512): "the credential is not valid",
		strings.Repeat("x", 513): "the credential is not valid",
	} {
		_, err := account.NewKeys(v).Authenticate(t.Context(), secret)
		require.EqualError(t, err, says)
		require.Equal(t, fault.CodeUnauthorized, fault.CodeOf(err))
		require.True(t, fault.Is(err, fault.Unauthenticated))
	}
	require.Equal(t, 2, v.seen, "neither an empty one nor one that is too long is looked up")
	_, err = account.NewStatic("x")
	require.NoError(t, err)
}

// A token names the only account, or none.
func TestATokenNamesTheOnlyAccount(t *testing.T) {
	t.Parallel()
	got, err := account.OnlyLocal{}.AccountOf(t.Context(), account.TokenClaims{Text: "local"})
	require.NoError(t, err)
	require.Equal(t, account.Account{ID: "local", Tier: account.TierLocal, Active: true}, got)
	got, err = account.OnlyLocal{}.AccountOf(t.Context(), account.TokenClaims{Text: "acme"})
	require.True(t, fault.Is(err, fault.NotFound))
	require.Zero(t, got)
	require.True(t, fault.Is(account.Suspended(), fault.Denied))
	require.Equal(t, fault.CodeForbidden, fault.CodeOf(account.Suspended()))
}

// A change is refused as a whole if one of its parts is wrong, and names its account and actor.
func TestAChangeOfAnAccountIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	negative := int64(-1)
	whole := func() account.Change {
		return account.Change{
			Account: "a", Actor: "ops", Tier: account.TierPro, Access: &account.Access{Models: []string{"a/b"}}, Storage: &account.StorageLimit{},
			Labels: &account.Labels{Allowed: []string{"b", "a", "b"}},
		}
	}
	c := whole()
	require.NoError(t, c.Check())
	require.Equal(t, []string{"a", "b"}, c.Labels.Allowed, "labels are sorted, each once")
	for says, change := range map[string]func(*account.Change){
		`tier "gold"`:     func(c *account.Change) { c.Tier = "gold" },
		`"A/b" must be`:   func(c *account.Change) { c.Access.Models = []string{"A/b"} },
		`"x" must be`:     func(c *account.Change) { c.Access.Denied = []string{"x"} },
		"a storage limit": func(c *account.Change) { c.Storage.Bytes = &negative },
		"is not a label":  func(c *account.Change) { c.Labels.Allowed = []string{"a b"} },
		"must name":       func(c *account.Change) { c.Account = "" },
		"the actor":       func(c *account.Change) { c.Actor = "" },
	} {
		c := whole()
		change(&c)
		err := c.Check()
		if says == "the actor" {
			says = "its actor"
		}
		require.ErrorContains(t, err, says)
		require.True(t, fault.Is(err, fault.Invalid), says)
		require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
	}
	require.NoError(t, account.Change{Account: "a", Actor: "o", Labels: &account.Labels{}}.Check(), "every label")
	longest := "a/" + strings.Repeat("x", 191)
	require.NoError(t, account.Change{Account: "a", Actor: "o", Access: &account.Access{Models: []string{longest}}}.Check())
	require.Error(t, account.Change{Account: "a", Actor: "o", Access: &account.Access{Models: []string{longest + "x"}}}.Check())
}

// A slot list accepts up to 10,000 slots for each tier, also with spaces, and the last value counts.
func TestTheBoundsOfSlots(t *testing.T) {
	t.Parallel()
	slots, err := account.ParseSlots(" pro=1 , creator=10000,local=2,standard=3")
	require.NoError(t, err)
	require.Equal(t, account.Slots{account.TierPro: 1, account.TierCreator: 10000, account.TierLocal: 2, account.TierStandard: 3}, slots)
	for _, wrong := range []string{"pro=0", "pro=10001", "pro=-1", "free=1", "pro"} {
		got, err := account.ParseSlots(wrong)
		require.ErrorContains(t, err, "each from 1 to 10000", wrong)
		require.Nil(t, got)
	}
	_, err = account.ParseSlots("gold=1")
	require.EqualError(t, err, `tier "gold" is not one of local, free, standard, creator, pro`)
}

// An account stores what fits below its limit.
func TestAnAccountStoresWhatFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		storage account.Storage
		more    int64
		fits    bool
		full    bool
	}{
		{account.Storage{Bytes: 5, Limit: 8}, 3, true, false},
		{account.Storage{Bytes: 5, Limit: 8}, 4, false, false},
		{account.Storage{Bytes: 5}, 1 << 60, true, false},
		{account.Storage{Bytes: 8, Limit: 8}, 0, true, true},
		{account.Storage{Bytes: 9, Limit: 8}, 1, false, true},
		{account.Storage{Limit: 1}, 1, true, false},
		{account.Storage{Bytes: 7, Limit: 8}, 0, true, false},
	} {
		err := c.storage.Fits(c.more)
		require.Equal(t, c.fits, err == nil, c)
		require.Equal(t, c.full, c.storage.Full(), c)
		if !c.fits {
			require.Equal(t, fault.CodeStorageQuotaExceeded, fault.CodeOf(err))
			require.True(t, fault.Is(err, fault.Denied))
			require.ErrorContains(t, err, "8 B")
		}
	}
}

// A variant of a model has the access of its model.
func TestAVariantHasTheAccessOfItsModel(t *testing.T) {
	t.Parallel()
	require.True(t, account.Access{Models: []string{"bfl/flux"}}.Allows("bfl/flux/fast"))
	require.False(t, account.Access{Denied: []string{"bfl/flux"}}.Allows("bfl/flux/fast"))
	some := account.Access{Models: []string{"a/b"}, Denied: []string{"c/d"}}
	require.True(t, some.Equal(account.Access{Models: []string{"a/b"}, Denied: []string{"c/d"}}))
	for _, other := range []account.Access{
		{Models: []string{"a/c"}, Denied: []string{"c/d"}},
		{Models: []string{"a/b"}},
		{Denied: []string{"c/d"}},
		{Off: true, Models: []string{"a/b"}, Denied: []string{"c/d"}},
	} {
		require.False(t, some.Equal(other), other)
		require.False(t, other.Equal(some), other)
	}
}

// A hidden account belongs to one account and reads its files.
func TestAHiddenAccountBelongsToOne(t *testing.T) {
	t.Parallel()
	of, ok := account.ShadowOf(account.Shadow("acme"))
	require.Equal(t, []any{"acme", true}, []any{of, ok})
	of, ok = account.ShadowOf("acme")
	require.Equal(t, []any{"acme", false}, []any{of, ok})
	require.Equal(t, "acme", account.Reads(account.Shadow("acme")))
	require.Equal(t, "acme", account.Reads("acme"))
	require.Equal(t, "account-acme", account.Stream("acme"))
	types := eventlog.NewRegistry()
	require.NoError(t, account.Register(types))
	data, err := types.Decode("account.tier_changed.v1", []byte(`{"tier":"pro","was":"free"}`))
	require.NoError(t, err)
	require.Equal(t, account.TierChangedV1{Tier: account.TierPro, Was: account.TierFree}, data)
}
