package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// Assets writes a listing of assets. names maps ids of accounts to their names.
func Assets(p *terminal.Printer, found []asset.Asset, names map[string]string) {
	if len(found) == 0 {
		p.Line("no asset matches", terminal.Faint)
		return
	}
	rows := make([][]terminal.Cell, len(found))
	for i, a := range found {
		rows[i] = []terminal.Cell{
			{Text: string(a.ID)},
			{Text: string(a.State), Style: assetStyle(a)},
			{Text: nameOf(a.Account, names)},
			{Text: a.CreatedAt.Format(time.DateTime)},
			{Text: fmt.Sprint(a.Size), Right: true},
			{Text: a.ContentType},
		}
	}
	p.Table([]string{"ID", "STATE", "ACCOUNT", "CREATED", "BYTES", "TYPE"}, rows)
}

func assetStyle(a asset.Asset) terminal.Style {
	if a.Damaged {
		return terminal.Bad
	}
	if a.State == asset.Expired {
		return terminal.Plain
	}
	return styleOf(string(a.State))
}

// Asset writes the state of an asset.
func Asset(p *terminal.Printer, a asset.Asset) {
	p.Field("asset", string(a.ID), terminal.Bold)
	p.Field("public id", string(a.Chosen), terminal.Plain)
	p.Field("state", string(a.State), assetStyle(a))
	p.Field("account", a.Account, terminal.Plain)
	p.Field("content", fmt.Sprintf("%d bytes, %s, %s", a.Size, a.ContentType, a.Hash), terminal.Plain)
	if a.FilePath != nil {
		p.Field("path", *a.FilePath, terminal.Plain)
	}
	if a.Producer != nil {
		p.Field("job", fmt.Sprintf("%s, node %s", a.Producer.Job, a.Producer.Node), terminal.Plain)
	}
	p.Field("created", a.CreatedAt.Format(time.RFC3339Nano), terminal.Plain)
	for _, m := range []struct {
		name string
		at   *time.Time
	}{{"verified", a.VerifiedAt}, {"expires", a.ExpiresAt}, {"ended", a.EndedAt}} {
		if m.at != nil {
			p.Field(m.name, m.at.Format(time.RFC3339Nano), terminal.Plain)
		}
	}
	if a.Scan != nil {
		p.Field("scan", strings.TrimSpace(string(a.Scan.Verdict)+" "+a.Scan.Reason), terminal.Plain)
	}
	if a.Damaged {
		p.Line("The stored bytes differ from the uploaded bytes; another upload of the same file repairs them", terminal.Bad)
	}
}
