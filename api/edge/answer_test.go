package edge_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/edge"
)

// connection is that of a client, which does something when it has an answer.
type connection struct {
	*httptest.ResponseRecorder
	flushed func() error
}

func (c connection) FlushError() error { return c.flushed() }

// An answer counts as given if the connection of a client that was there took it, also if the client then left at once: what is
// answered once is not answered again.
func TestAnAnswerIsGivenToAClientThatWasThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		goneBefore, leaves bool
		broken             error
		given              bool
	}{
		"a client that stays":                {given: true},
		"a client that leaves with it":       {leaves: true, given: true},
		"a client that had gone":             {goneBefore: true},
		"a connection that breaks meanwhile": {broken: errors.New("broken pipe")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			w := connection{httptest.NewRecorder(), func() error {
				if c.leaves {
					leave()
				}
				return c.broken
			}}
			g, _ := gin.CreateTestContext(w)
			g.Request = httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
			if c.goneBefore {
				leave()
			}
			given, err := edge.Deliver(g, http.StatusCreated, gin.H{"id": 1})
			require.NoError(t, err)
			require.Equal(t, c.given, given)
		})
	}
}
