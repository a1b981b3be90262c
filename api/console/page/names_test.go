package page_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

func TestAHiddenAccountIsNamedAfterItsOwner(t *testing.T) {
	t.Parallel()
	names, err := (&page.Server{}).Names(t.Context())
	require.NoError(t, err)
	require.Equal(t, "shadow of "+account.LocalID, names[account.Shadow(account.LocalID)])
}
