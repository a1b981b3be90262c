package accountstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestTokensNameAccounts(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, account.Register(types))
	events := eventstore.New(pool, types, nil)
	store, subscriptions := accountstore.New(pool), accountstore.NewSubscriptions(events)
	known, creating := accountstore.NewTokenAccounts(pool, events, ""), accountstore.NewTokenAccounts(pool, events, account.TierStandard)
	acme, err := store.Create(t.Context(), "acme", account.TierStandard)
	require.NoError(t, err)
	usurper, err := store.Create(t.Context(), acme.ID, account.TierPro) // is called what another's id is
	require.NoError(t, err)

	for _, text := range []string{"acme", acme.ID} {
		a, err := known.AccountOf(t.Context(), account.TokenClaims{Text: text})
		require.NoError(t, err)
		require.Equal(t, acme, a)
	}
	a, err := known.AccountOf(t.Context(), account.TokenClaims{Text: usurper.ID})
	require.NoError(t, err)
	require.Equal(t, usurper.ID, a.ID)
	for _, finder := range []*accountstore.TokenAccounts{known, creating} {
		_, err = finder.AccountOf(t.Context(), account.TokenClaims{Text: account.LocalID})
		require.Equal(t, fault.NotFound, fault.KindOf(err), "the local account is nobody's")
		_, err = finder.AccountOf(t.Context(), account.TokenClaims{Text: "ac\x00me"})
		require.Equal(t, fault.NotFound, fault.KindOf(err), "a name that cannot be")
	}
	_, err = known.AccountOf(t.Context(), account.TokenClaims{Text: "new"})
	require.Equal(t, fault.NotFound, fault.KindOf(err))

	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		all.Go(func() {
			a, err := creating.AccountOf(t.Context(), account.TokenClaims{Text: "new", Tier: account.TierCreator})
			if err != nil || a.Tier != account.TierCreator {
				t.Errorf("made at first sight: %v, %v", a, err)
			}
			ids[i] = a.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id, "one account, however many see it first")
	}
	plain, err := creating.AccountOf(t.Context(), account.TokenClaims{Text: "plain"})
	require.NoError(t, err)
	require.Equal(t, account.TierStandard, plain.Tier)
	_, err = creating.AccountOf(t.Context(), account.TokenClaims{Text: "bad\nname"})
	require.Equal(t, fault.Denied, fault.KindOf(err))

	yes, no := true, false
	_, err = subscriptions.Change(t.Context(), account.Change{Account: acme.ID, Suspend: &yes, Actor: "ops", Reason: "abuse"})
	require.NoError(t, err)
	_, err = known.AccountOf(t.Context(), account.TokenClaims{Text: "acme"})
	require.Equal(t, fault.Denied, fault.KindOf(err))
	_, err = subscriptions.Change(t.Context(), account.Change{Account: acme.ID, Suspend: &no, Actor: "ops", Reason: "talked"})
	require.NoError(t, err)
	_, err = known.AccountOf(t.Context(), account.TokenClaims{Text: "acme"})
	require.NoError(t, err)
}

func TestTierOfTheLatestTokenWins(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, account.Register(types))
	events := eventstore.New(pool, types, nil)
	acme, err := accountstore.New(pool).Create(t.Context(), "acme", account.TierStandard)
	require.NoError(t, err)
	tokens := accountstore.NewTokenAccounts(pool, events, "")
	morning := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		says   account.Tier
		issued time.Time
		want   account.Tier
	}{
		{"", morning, account.TierStandard},
		{account.TierPro, time.Time{}, account.TierStandard}, // nobody knows when
		{account.TierPro, morning, account.TierPro},
		{account.TierCreator, morning.Add(time.Hour), account.TierCreator},
		{account.TierPro, morning, account.TierCreator}, // of before
		{account.TierCreator, morning, account.TierCreator},
	} {
		for range 3 {
			a, err := tokens.AccountOf(t.Context(), account.TokenClaims{Text: "acme", Tier: c.says, IssuedAt: c.issued})
			require.NoError(t, err)
			require.Equal(t, c.want, a.Tier, "%+v", c)
		}
	}
	recorded, err := events.ReadStream(t.Context(), account.Stream(acme.ID), 0, 10)
	require.NoError(t, err)
	require.Len(t, recorded, 2, "what is so already is not recorded again")
	require.Equal(t, account.TypeTierChanged, recorded[1].Type)
	require.Equal(t, "token", recorded[1].Meta.Actor)
}

func TestKeysFollowSuspensionAndAccess(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, account.Register(types))
	events := eventstore.New(pool, types, nil)
	store, subscriptions := accountstore.New(pool), accountstore.NewSubscriptions(events)
	acme, err := store.Create(t.Context(), "acme", account.TierStandard)
	require.NoError(t, err)
	secret, _, err := account.Issue(t.Context(), store, account.Key{Account: acme.ID})
	require.NoError(t, err)
	keys := account.NewKeys(store)
	change := func(c account.Change) {
		c.Account, c.Actor, c.Reason = acme.ID, "ops", "because"
		_, err := subscriptions.Change(t.Context(), c)
		require.NoError(t, err)
	}
	access := account.Access{Off: true, Models: []string{"bfl/*"}, Denied: []string{"bfl/flux-2-pro"}}
	change(account.Change{Access: &access})
	change(account.Change{Access: &access}) // as it is
	id, err := keys.Authenticate(t.Context(), secret)
	require.NoError(t, err)
	require.True(t, access.Equal(id.Access))
	yes := true
	change(account.Change{Suspend: &yes})
	_, err = keys.Authenticate(t.Context(), secret)
	require.Equal(t, fault.Denied, fault.KindOf(err))
	require.Equal(t, fault.CodeForbidden, fault.CodeOf(err))

	recorded, err := events.ReadStream(t.Context(), account.Stream(acme.ID), 0, 10)
	require.NoError(t, err)
	require.Len(t, recorded, 2)
	require.Equal(t, account.TypeRouterAccessChanged, recorded[0].Type)
	require.JSONEq(t, `{"enabled":false,"models":["bfl/*"],"denied":["bfl/flux-2-pro"]}`, string(recorded[0].Data))
	require.Equal(t, account.TypeSuspended, recorded[1].Type)
	require.Equal(t, eventlog.Meta{Actor: "ops", Reason: "because"}, recorded[1].Meta)
}
