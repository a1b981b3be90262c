package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-dev/millrace/internal/cli/shell"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate/accounts"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// formatLimit formats a storage limit.
func formatLimit(s *shell.Shell, a account.Account) string {
	if limit := a.StorageLimit(s.Config.AccountLimit); limit > 0 {
		return account.Size(limit)
	}
	return "none"
}

func accountStorageCommand(s *shell.Shell) *cobra.Command {
	var limit, reason string
	var check, asJSON bool
	cmd := &cobra.Command{
		Use: "storage ACCOUNT", Short: "Show the stored bytes of an account, or change its storage limit", Args: cobra.ExactArgs(1),
		Long: `Show the stored bytes of an account: uploads, references, outputs of its jobs, copied answers of models and
files of its editor, each by its size; or change its storage limit. At the limit, uploads, submissions and
model calls are refused with 403 storage_quota_exceeded; accepted jobs keep their outputs. The change is in
force within a second, in every process, and is recorded with its actor and reason.`,
		Example: `  millrace accounts storage acme
  millrace accounts storage acme --limit 50GiB --reason "contract of May"
  millrace accounts storage acme --limit default --reason "contract ended"
  millrace accounts storage acme --check`,
	}
	cmd.RunE = onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) (err error) {
		if limit != "" {
			if a, err = setStorage(ctx, o, a, limit, reason); err != nil {
				return err
			}
		}
		if check {
			if err := checkStorage(ctx, o, a); err != nil {
				return err
			}
		}
		kept, err := o.Storage(ctx, a)
		if err != nil {
			return err
		}
		if asJSON {
			return s.PrintJSON(map[string]any{"account": a.ID, "name": a.Name, "bytes": kept.Bytes, "files": kept.Files, "limit_bytes": kept.Limit, "own_limit": a.Storage != nil})
		}
		_, err = fmt.Fprintln(s.Out, a.Name+": "+describeStorage(kept))
		return err
	})
	cmd.Flags().StringVar(&limit, "limit", "", "storage limit: 50GiB, 1073741824, none, or default (MILLRACE_ACCOUNT_STORAGE)")
	cmd.Flags().StringVar(&reason, "reason", "", "reason that is recorded with the change")
	cmd.Flags().BoolVar(&check, "check", false, "first add up all records, and fail unless the sum equals the stored count")
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

// describeStorage describes the storage of an account.
func describeStorage(kept account.Storage) string {
	text := fmt.Sprintf("stores %s in %d files, no limit", account.Size(kept.Bytes), kept.Files)
	if kept.Limit == 0 {
		return text
	}
	text = fmt.Sprintf("stores %s of %s in %d files", account.Size(kept.Bytes), account.Size(kept.Limit), kept.Files)
	if kept.Full() {
		text += ": full, new files are refused"
	}
	return text
}

func setStorage(ctx context.Context, o accounts.Service, a account.Account, limit, reason string) (account.Account, error) {
	if reason == "" {
		return a, errors.New("a change needs a reason: --reason TEXT")
	}
	var wanted account.StorageLimit
	switch limit {
	case "default":
	case "none":
		wanted.Bytes = new(int64)
	default:
		bytes, err := account.ParseSize(limit)
		if err != nil || bytes == 0 {
			return a, fmt.Errorf("--limit takes a size such as 50GiB or 1073741824, none, or default, not %q", terminal.Clean(limit))
		}
		wanted.Bytes = &bytes
	}
	return o.Change(ctx, account.Change{Account: a.ID, Storage: &wanted, Actor: shell.Operator(), Reason: reason})
}

func checkStorage(ctx context.Context, o accounts.Service, a account.Account) error {
	counted, kept, err := o.Recount(ctx, a.ID)
	if err == nil && counted != kept {
		err = fmt.Errorf("the records of %s add up to %d bytes in %d files, but the stored count is %d bytes in %d files", terminal.Clean(a.Name), counted.Bytes, counted.Files, kept.Bytes, kept.Files)
	}
	return err
}

func showAccountCommand(s *shell.Shell) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ACCOUNT", Short: "Show an account: tier, subscription, storage, credit, models", Args: cobra.ExactArgs(1),
		RunE: onAccount(s, func(ctx context.Context, o accounts.Service, a account.Account) error {
			kept, err := o.Storage(ctx, a)
			if err != nil {
				return err
			}
			balance, err := o.Balance(ctx, a.ID)
			if err != nil {
				return err
			}
			if asJSON {
				return s.PrintJSON(map[string]any{
					"id": a.ID, "name": a.Name, "tier": a.Tier, "active": a.Active, "suspended": a.Suspended, "created_at": a.CreatedAt,
					"storage": kept, "credit": balance, "router": !a.Access.Off, "allowed": a.Access.Models, "denied": a.Access.Denied, "server_labels": a.Labels.Allowed,
				})
			}
			p := s.Printer()
			p.Field("account", a.ID, terminal.Bold)
			p.Field("name", a.Name, terminal.Plain)
			p.Field("tier", string(a.Tier), terminal.Plain)
			p.Field("status", statusLine(a), terminal.Plain)
			p.Field("created", a.CreatedAt.Format(time.DateTime)+" UTC", terminal.Plain)
			p.Field("storage", describeStorage(kept), terminal.Plain)
			p.Field("credit", strings.TrimPrefix(balanceLine("", balance), ": "), terminal.Plain)
			p.Field("labels", formatList(a.Labels.Allowed), terminal.Plain)
			return p.Err()
		}),
	}
	shell.JSONFlag(cmd, &asJSON)
	return cmd
}

func statusLine(a account.Account) string {
	switch {
	case a.Suspended:
		return "suspended: its keys and tokens are refused"
	case !a.Active:
		return "inactive: it can read but not submit"
	}
	return "active"
}
