package servers

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/projections/serverusage"
)

var usage = action.Of[*Service, operate.Period, []serverusage.Day]{
	Spec: action.Spec{
		ID: "adminServerUsage", Route: "GET /servers/usage", Schema: "AdminServerUsage", Member: "usage", List: true,
		Summary:  "Get the time on servers and its cost, by day (UTC), account and server, newest day first.",
		Commands: []action.Command{{Use: "usage", Short: "Add up time on servers and its cost by day, account and server"}},
	},
	Do: func(ctx context.Context, o *Service, p operate.Period, _ operate.Attribution) ([]serverusage.Day, error) {
		w, err := p.Window(ctx, o.Pool)
		if err != nil {
			return nil, err
		}
		days, err := serverusage.NewReader(o.Pool).Between(ctx, w.Account, w.From, w.Until)
		return append([]serverusage.Day{}, days...), err
	},
	Show: func(out *terminal.Printer, _ operate.Period, days []serverusage.Day) {
		rows := make([][]terminal.Cell, len(days))
		for i, d := range days {
			rows[i] = []terminal.Cell{
				{Text: d.Day.Format(time.DateOnly)},
				{Text: terminal.OrDash(d.Account)},
				{Text: d.URL},
				{Text: fmt.Sprint(d.Segments), Right: true},
				{Text: fmt.Sprint(d.GivenUp), Right: true},
				{Text: inspect.Span(time.Duration(d.Millis) * time.Millisecond), Right: true},
				{Text: "$" + amount.Dollars(d.Cost), Right: true},
				{Text: inspect.Span(time.Duration(d.Idle) * time.Millisecond), Right: true},
				{Text: "$" + amount.Dollars(d.IdleCost), Right: true},
			}
		}
		out.Table([]string{"DAY", "ACCOUNT", "SERVER", "SEGMENTS", "GIVEN UP", "TIME", "COST", "IDLE", "ITS COST"}, rows)
	},
}.Untyped()
