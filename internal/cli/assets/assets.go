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
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/records"
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
			return s.Print(asJSON, found, func(p *inspect.Printer) { printAssets(p, found, names) })
		}),
	}
	cmd.Flags().StringVar(&f.State, "status", "", "live, rejected, deleted or expired; default: any")
	cmd.Flags().StringVar(&f.Account, "account", "", "name or id of an account; default: all")
	cmd.Flags().IntVar(&f.Limit, "limit", f.Limit, "maximum number, up to 1,000")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func printAssets(p *inspect.Printer, found []asset.Asset, names map[string]string) {
	if len(found) == 0 {
		p.Line("no asset matches", inspect.Faint)
		return
	}
	rows := make([][]inspect.Cell, len(found))
	for i, a := range found {
		name := a.Account
		if names[name] != "" {
			name = names[name]
		}
		rows[i] = []inspect.Cell{
			{Text: string(a.ID)},
			{Text: string(a.State), Style: assetStyle(a)},
			{Text: inspect.Clean(name)},
			{Text: a.CreatedAt.Format(time.DateTime)},
			{Text: fmt.Sprint(a.Size), Right: true},
			{Text: inspect.Clean(a.ContentType)},
		}
	}
	p.Table([]string{"ID", "STATE", "ACCOUNT", "CREATED", "BYTES", "TYPE"}, rows)
}

func assetStyle(a asset.Asset) inspect.Style {
	switch {
	case a.State == asset.Rejected || a.Damaged:
		return inspect.Bad
	case a.State == asset.Live:
		return inspect.Good
	default:
		return inspect.Plain
	}
}

func printAsset(p *inspect.Printer, a asset.Asset) {
	p.Field("asset", string(a.ID), inspect.Bold)
	p.Field("public id", string(a.Chosen), inspect.Plain)
	p.Field("state", string(a.State), assetStyle(a))
	p.Field("account", inspect.Clean(a.Account), inspect.Plain)
	p.Field("content", fmt.Sprintf("%d bytes, %s, %s", a.Size, inspect.Clean(a.ContentType), a.Hash), inspect.Plain)
	if a.FilePath != nil {
		p.Field("path", inspect.Clean(*a.FilePath), inspect.Plain)
	}
	if a.Producer != nil {
		p.Field("job", fmt.Sprintf("%s, node %s", a.Producer.Job, inspect.Clean(a.Producer.Node)), inspect.Plain)
	}
	p.Field("created", a.CreatedAt.Format(time.RFC3339Nano), inspect.Plain)
	for _, m := range []struct {
		name string
		at   *time.Time
	}{{"verified", a.VerifiedAt}, {"expires", a.ExpiresAt}, {"ended", a.EndedAt}} {
		if m.at != nil {
			p.Field(m.name, m.at.Format(time.RFC3339Nano), inspect.Plain)
		}
	}
	if a.Scan != nil {
		p.Field("scan", strings.TrimSpace(string(a.Scan.Verdict)+" "+inspect.Clean(a.Scan.Reason)), inspect.Plain)
	}
	if a.Damaged {
		p.Line("The stored bytes differ from the uploaded bytes; another upload of the same file repairs them", inspect.Bad)
	}
}
