package report

import (
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/projections/usage"
)

// Calls writes a listing of model calls. names maps ids of accounts to their names.
func Calls(p *terminal.Printer, found []call.Call, names map[string]string) {
	if len(found) == 0 {
		p.Line("no call matches", terminal.Faint)
		return
	}
	rows := make([][]terminal.Cell, len(found))
	for i, c := range found {
		took := "–"
		if c.EndedAt != nil {
			took = inspect.Span(c.EndedAt.Sub(c.AcceptedAt))
		}
		rows[i] = []terminal.Cell{
			{Text: string(c.ID)},
			{Text: string(c.State), Style: styleOf(string(c.State))},
			{Text: c.Model},
			{Text: nameOf(c.Account, names)},
			{Text: c.AcceptedAt.Format(time.DateTime)},
			{Text: took, Right: true},
			{Text: charged(c), Right: true},
			{Text: callRemark(c)},
		}
	}
	p.Table([]string{"ID", "STATE", "MODEL", "ACCOUNT", "ACCEPTED", "TOOK", "CHARGED", ""}, rows)
}

func charged(c call.Call) string {
	if c.Charged == nil {
		return "–"
	}
	return "$" + amount.Dollars(*c.Charged)
}

func callRemark(c call.Call) string {
	switch {
	case c.Failure != nil:
		return c.Failure.Type
	case c.Detached && !c.State.Final():
		return "its caller has disconnected"
	case c.Canceling && !c.State.Final():
		return "cancel requested"
	}
	return ""
}

// Call writes the state of a model call.
func Call(p *terminal.Printer, c call.Call) {
	p.Field("call", string(c.ID), terminal.Bold)
	p.Field("state", string(c.State), styleOf(string(c.State)))
	p.Field("model", c.Model, terminal.Plain)
	p.Field("account", c.Account, terminal.Plain)
	p.Field("delivery", fmt.Sprintf("%s, %s, idempotency key: %t", c.Mode, c.API, c.Keyed), terminal.Plain)
	p.Field("accepted", c.AcceptedAt.Format(time.RFC3339Nano), terminal.Plain)
	for _, m := range []struct {
		name string
		at   *time.Time
	}{{"admitted", c.AdmittedAt}, {"sent", c.SentAt}, {"ended", c.EndedAt}} {
		if m.at != nil {
			p.Field(m.name, fmt.Sprintf("%s (+%s)", m.at.Format(time.RFC3339Nano), inspect.Span(m.at.Sub(c.AcceptedAt))), terminal.Plain)
		}
	}
	p.Field("request", fmt.Sprintf("%d bytes, %s", c.Request.Size, c.Request.Ref), terminal.Plain)
	if c.Answer != nil {
		p.Field("answer", fmt.Sprintf("%d bytes, %s, %s", c.Answer.Size, c.Answer.ContentType, c.Answer.Ref), terminal.Plain)
	}
	p.Field("handle", c.Handle, terminal.Plain)
	p.Field("held", "$"+amount.Dollars(c.Held), terminal.Plain)
	p.Field("charged", charged(c), terminal.Plain)
	if c.Failure != nil {
		p.Field("failure", fmt.Sprintf("%s (%d): %s", c.Failure.Type, c.Failure.Status, c.Failure.Detail), terminal.Bad)
	}
	if c.State == call.Unknown && c.Charged == nil {
		p.Line("The call was sent, and its outcome is unknown. Look it up at the provider, then: millrace calls reconcile", terminal.Notice)
	}
}

// Usage writes sums of calls and charges. names maps ids of accounts to their names.
func Usage(p *terminal.Printer, days []usage.Day, names map[string]string) {
	rows := make([][]terminal.Cell, len(days))
	for i, d := range days {
		rows[i] = terminal.Cells(d.Day.Format(time.DateOnly), nameOf(d.Account, names), d.Model)
		for _, n := range []int64{d.Succeeded, d.Failed, d.Canceled, d.Unknown, d.Bytes} {
			rows[i] = append(rows[i], terminal.Cell{Text: fmt.Sprint(n), Right: true})
		}
		rows[i] = append(rows[i], terminal.Cell{Text: "$" + amount.Dollars(d.Charged), Right: true})
	}
	p.Table([]string{"DAY", "ACCOUNT", "MODEL", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN", "BYTES", "CHARGED"}, rows)
}
