package accountstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestSubscriptionChangesAreRecorded(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, account.Register(types))
	events := eventstore.New(pool, types, nil)
	accounts, subscriptions := accountstore.New(pool), accountstore.NewSubscriptions(events)
	acme, err := accounts.Create(t.Context(), "acme", account.TierStandard)
	require.NoError(t, err)
	lapsed, renewed := false, true
	for _, c := range []account.Change{
		{Tier: account.TierPro},
		{Tier: account.TierPro, Active: &renewed}, // as it is
		{Active: &lapsed},
		{Tier: account.TierCreator, Active: &renewed},
	} {
		c.Account, c.Actor, c.Reason = acme.ID, "ops", "invoice 17"
		changed, err := subscriptions.Change(t.Context(), c)
		require.NoError(t, err)
		stored, err := accounts.Account(t.Context(), acme.ID)
		require.NoError(t, err)
		require.Equal(t, stored, changed)
	}
	recorded, err := events.ReadStream(t.Context(), account.Stream(acme.ID), 0, 10)
	require.NoError(t, err)
	var kinds []string
	for _, event := range recorded {
		kinds = append(kinds, event.Type)
		require.Equal(t, eventlog.Meta{Actor: "ops", Reason: "invoice 17"}, event.Meta)
	}
	require.Equal(t, []string{account.TypeTierChanged, account.TypeUnsubscribed, account.TypeTierChanged, account.TypeSubscribed}, kinds)
	require.JSONEq(t, `{"tier":"pro","was":"standard"}`, string(recorded[0].Data))
	_, err = subscriptions.Change(t.Context(), account.Change{Account: "nobody", Tier: account.TierPro, Actor: "ops"})
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = subscriptions.Change(t.Context(), account.Change{Account: acme.ID, Tier: "gold", Actor: "ops"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}
