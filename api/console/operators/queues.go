package operators

import (
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/queues"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// queues shows the state of every queue: GET /console/queues.
func (r *Section) queues(c *gin.Context, _ page.Visitor) (console.Page, error) {
	states, err := r.Queues.States(c.Request.Context())
	if err != nil {
		return nil, err
	}
	names, err := r.page.Names(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := &QueuesPage{Frame: console.Frame{Title: "Queues", Live: true, Every: every}}
	everyone := slices.IndexFunc(states, func(s gate.State) bool { return s.Account == gate.All })
	first := []gate.State{}
	if everyone >= 0 {
		first, states = append(first, states[everyone]), slices.Delete(states, everyone, everyone+1)
	}
	rows, search := searched(c, states, func(s gate.State) accountName { return accountName{names[s.Account], s.Account} })
	shown.Search = search
	for _, s := range append(first, rows...) {
		line := Queue{State: s, Name: names[s.Account]}
		if s.Account == gate.All {
			line.Name = "all accounts"
		}
		line.Acts = slices.DeleteFunc(Buttons(queues.Set, map[string]string{"account": s.Account}), func(a console.Act) bool {
			return a.Hidden["mode"] == string(s.Mode)
		})
		shown.Queues = append(shown.Queues, line)
	}
	return shown, nil
}

func noAccount() error {
	return fault.New(fault.NotFound, fault.CodeAccountNotFound, "This account does not exist.")
}
