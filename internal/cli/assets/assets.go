// Package assets holds the commands on assets.
package assets

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/cli/show"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/operate"
	operateassets "github.com/millrace-dev/millrace/internal/operate/assets"
	"github.com/millrace-dev/millrace/internal/operate/records"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
)

var printedAssets = show.Commands[asset.Asset]{Kind: records.Assets, Print: printAsset}

// Command returns the commands on assets.
func Command(s *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "assets",
		Short: "List assets, and show the history of one",
		Long: `Show the history of an asset, from its recorded events. An ID may be shortened to its first
characters, at least four, if no other asset's ID begins with them.`,
		Example: `  millrace assets list --account acme --status rejected
  millrace assets show 08904d9e
  millrace assets events 08904d9e
  millrace assets timeline 08904d9e
  millrace assets show 08904d9e --workflow`,
	}
	s.DatabaseFlags(cmd)
	cmd.AddCommand(listAssets(s), printedAssets.Show(s), printedAssets.Events(s), printedAssets.Timeline(s), printedAssets.Diff(s))
	return cmd
}

func listAssets(s *shell.Shell) *cobra.Command {
	var asJSON bool
	f := operateassets.Filter{Limit: 20}
	cmd := &cobra.Command{
		Use: "list", Short: "List assets, newest first", Args: cobra.NoArgs,
		RunE: s.OnDatabase(func(ctx context.Context, pool *postgres.Pool, _ []string) error {
			names, err := operate.AccountNames(ctx, pool)
			if err != nil {
				return err
			}
			if err := records.LimitOf(f.Limit, operateassets.MaxListed); err != nil {
				return err
			}
			found, err := operateassets.List(ctx, pool, names, f)
			if err != nil {
				return err
			}
			return s.Print(asJSON, found, func(p *terminal.Printer) { printAssets(p, found, names) })
		}),
	}
	cmd.Flags().StringVar(&f.State, "status", "", "live, rejected, deleted or expired; default: any")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; default: all")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "maximum number, up to 1,000")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printAssets(p *terminal.Printer, found []asset.Asset, names map[string]string) {
	if len(found) == 0 {
		p.Line("no asset matches", terminal.Faint)
		return
	}
	rows := make([][]terminal.Cell, len(found))
	for i, a := range found {
		name := a.Account
		if names[name] != "" {
			name = names[name]
		}
		rows[i] = []terminal.Cell{
			{Text: string(a.ID)},
			{Text: string(a.State), Style: assetStyle(a)},
			{Text: terminal.Clean(name)},
			{Text: a.CreatedAt.Format(time.DateTime)},
			{Text: fmt.Sprint(a.Size), Right: true},
			{Text: terminal.Clean(a.ContentType)},
		}
	}
	p.Table([]string{"ID", "STATE", "ACCOUNT", "CREATED", "BYTES", "TYPE"}, rows)
}

func assetStyle(a asset.Asset) terminal.Style {
	switch {
	case a.State == asset.Rejected || a.Damaged:
		return terminal.Bad
	case a.State == asset.Live:
		return terminal.Good
	default:
		return terminal.Plain
	}
}

func printAsset(p *terminal.Printer, a asset.Asset) {
	p.Field("asset", string(a.ID), terminal.Bold)
	p.Field("public id", string(a.Chosen), terminal.Plain)
	p.Field("state", string(a.State), assetStyle(a))
	p.Field("account", terminal.Clean(a.Account), terminal.Plain)
	p.Field("content", fmt.Sprintf("%d bytes, %s, %s", a.Size, terminal.Clean(a.ContentType), a.Hash), terminal.Plain)
	if a.FilePath != nil {
		p.Field("path", terminal.Clean(*a.FilePath), terminal.Plain)
	}
	if a.Producer != nil {
		p.Field("job", fmt.Sprintf("%s, node %s", a.Producer.Job, terminal.Clean(a.Producer.Node)), terminal.Plain)
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
		p.Field("scan", strings.TrimSpace(string(a.Scan.Verdict)+" "+terminal.Clean(a.Scan.Reason)), terminal.Plain)
	}
	if a.Damaged {
		p.Line("The stored bytes differ from the uploaded bytes; another upload of the same file repairs them", terminal.Bad)
	}
}
