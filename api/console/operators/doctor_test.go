package operators_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/console/operators"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
)

// counted says how often it has examined. It does so when goOn is closed.
type counted struct {
	times atomic.Int64
	goOn  chan struct{}
}

// Examine implements doctor.Examiner.
func (d *counted) Examine(context.Context) (doctor.Examined, error) {
	<-d.goOn
	return doctor.Examined{Checks: []doctor.Finding{{
		Check: "database", Status: doctor.Warning,
		Detail: fmt.Sprintf("examination %d", d.times.Add(1)),
	}}}, nil
}

// TestTheDoctorExaminesWhenItIsAskedTo opens the page many times: it waits for no examination, and shows one with its time
// until somebody asks for another.
func TestTheDoctorExaminesWhenItIsAskedTo(t *testing.T) {
	t.Parallel()
	auth, err := account.NewStatic(clients)
	require.NoError(t, err)
	e, err := edge.New(edge.Deps{Auth: auth, Logger: slog.New(slog.DiscardHandler)}, edge.Options{Mode: account.ModeToken})
	require.NoError(t, err)
	p := page.New(page.Deps{Edge: e, Sealer: plain{}, Operator: func(secret string) bool { return secret == theirs }}, page.Base)
	d := &counted{goOn: make(chan struct{})}
	section := operators.New(p, operators.Services{Doctor: d})
	handler, err := e.Handler(append(p.Routes(), section.Routes()...), func(*gin.Context) error { return nil })
	require.NoError(t, err)
	var cookie *http.Cookie
	send := func(method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(url.Values{"key": {theirs}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	cookie = send(http.MethodPost, "/console/signin").Result().Cookies()[0]

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { send(http.MethodGet, "/console/doctor") })
	}
	all.Wait()
	require.Contains(t, send(http.MethodGet, "/console/doctor").Body.String(), "Its findings appear here")
	close(d.goOn)
	shown := ""
	require.Eventually(t, func() bool {
		shown = send(http.MethodGet, "/console/doctor").Body.String()
		return strings.Contains(shown, "examination 1<")
	}, time.Minute, time.Millisecond)
	require.Contains(t, shown, "1 to look at")
	require.Regexp(t, `examined <time datetime="\d{4}-`, shown)
	require.EqualValues(t, 1, d.times.Load())

	again := send(http.MethodPost, "/console/doctor")
	require.Equal(t, http.StatusSeeOther, again.Code)
	require.Equal(t, "/console/doctor", again.Header().Get("Location"))
	require.Contains(t, send(http.MethodGet, "/console/doctor").Body.String(), "examination 2<")
	require.EqualValues(t, 2, d.times.Load())
}
