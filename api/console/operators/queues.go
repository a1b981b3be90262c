package operators

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// queues shows the state of every queue: GET /console/queues.
func (r *Section) queues(c *gin.Context, _ page.Visitor) (console.Page, error) {
	states, err := r.Queues.States(c.Request.Context())
	if err != nil {
		return nil, err
	}
	names, err := r.names(c)
	if err != nil {
		return nil, err
	}
	shown := &console.QueuesPage{Frame: console.Frame{Title: "Queues", Live: true, Every: every}}
	everyone := slices.IndexFunc(states, func(s gate.State) bool { return s.Account == gate.All })
	first := []gate.State{}
	if everyone >= 0 {
		first, states = append(first, states[everyone]), slices.Delete(states, everyone, everyone+1)
	}
	rows, search := searched(c, states, func(s gate.State) accountName { return accountName{names[s.Account], s.Account} })
	shown.Search = search
	for _, s := range append(first, rows...) {
		line := console.Queue{State: s, Name: names[s.Account]}
		if s.Account == gate.All {
			line.Name = "all accounts"
		}
		for _, mode := range []gate.Mode{gate.Open, gate.Paused, gate.Draining, gate.Stopped} {
			if mode != s.Mode {
				line.Acts = append(line.Acts, console.Act{
					Path: "/queues", Label: queueVerbs[mode].label, Warning: queueVerbs[mode].warning,
					Hidden: map[string]string{"queue": s.Account, "mode": string(mode)},
				})
			}
		}
		shown.Queues = append(shown.Queues, line)
	}
	return shown, nil
}

// queueVerbs describe the effect of each mode.
var queueVerbs = map[gate.Mode]struct{ label, warning string }{
	gate.Open:     {"Open", "New jobs are accepted and start."},
	gate.Paused:   {"Pause", "New jobs are accepted and wait. Running jobs continue."},
	gate.Draining: {"Drain", "New jobs are refused. Waiting jobs start."},
	gate.Stopped:  {"Stop", "New jobs are refused, and waiting jobs keep waiting. Running jobs continue."},
}

// names returns the names of the accounts by their ids.
func (r *Section) names(c *gin.Context) (map[string]string, error) {
	all, err := r.Accounts.Accounts(c.Request.Context())
	if err != nil {
		return nil, err
	}
	names := map[string]string{account.LocalID: "local"}
	for _, a := range all {
		names[a.ID] = a.Name
	}
	return names, nil
}

func (r *Section) setQueue(c *gin.Context, v page.Visitor) (string, error) {
	by, err := attribution(c, v)
	if err != nil {
		return "", err
	}
	mode, err := gate.ParseMode(c.PostForm("mode"))
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
	}
	queue, err := r.queueNamed(c, strings.TrimSpace(c.PostForm("queue")))
	if err != nil {
		return "", err
	}
	_, err = r.Queues.Set(c.Request.Context(), gate.Change{Account: queue, Mode: mode, Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID})
	return "/queues", err
}

// queueNamed returns the id of the account that a form names by its name or id. It returns gate.All unchanged.
func (r *Section) queueNamed(c *gin.Context, text string) (string, error) {
	if text == gate.All {
		return text, nil
	}
	names, err := r.names(c)
	if err != nil {
		return "", err
	}
	for id, name := range names {
		if id == text || name == text {
			return id, nil
		}
	}
	return "", noAccount()
}

func noAccount() error {
	return fault.New(fault.NotFound, fault.CodeAccountNotFound, "This account does not exist.")
}
