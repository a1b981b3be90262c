package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// storageLimit is a number of bytes or null in JSON, and a size, none or default in a command.
type storageLimit struct {
	given bool
	bytes *int64 // 0 = no limit; nil = the deployment's
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *storageLimit) UnmarshalText(text []byte) error {
	l.given = true
	switch string(text) {
	case "default":
	case "none":
		l.bytes = new(int64)
	default:
		bytes, err := amount.ParseBytes(string(text))
		if err != nil || bytes == 0 {
			return errors.New("no size")
		}
		l.bytes = &bytes
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *storageLimit) UnmarshalJSON(raw []byte) error {
	l.given = true
	return json.Unmarshal(raw, &l.bytes)
}

// Takes describes the values.
func (*storageLimit) Takes() string {
	return "a size such as 50GiB or 1073741824, none, or default; " +
		"in JSON a number of bytes, 0 for no limit, or null for the limit of the deployment"
}

// Schema describes the values in the OpenAPI document.
func (*storageLimit) Schema() map[string]any {
	return map[string]any{"type": "integer", "nullable": true}
}

type storageParams struct {
	named
	Limit storageLimit `name:"limit_bytes" flag:"limit" required:"route"`
	Check bool         `name:"check" route:"-" help:"first add up all records, and fail unless the sum equals the stored count"`
}

// storage is the storage that an account uses, and its limits.
type storage struct {
	Account string `json:"account"`
	Name    string `json:"name"`
	account.Storage
	Own    *int64 `json:"own_limit_bytes"` // the account's own limit: 0 = no limit, null = the deployment's
	HasOwn bool   `json:"own_limit"`
}

func (a Service) storageOf(ctx context.Context, of account.Account) (storage, error) {
	kept, err := a.Storage(ctx, of)
	return storage{of.ID, of.Name, kept, of.Storage, of.Storage != nil}, err
}

var showStorage = action.Of[Service, named, storage]{
	Spec: action.Spec{
		ID: "adminStorage", Route: "GET /accounts/{account}/storage", Schema: "AdminStorage",
		Summary: "Get the storage that an account uses, and its limit.",
	},
	Do: func(ctx context.Context, o Service, p named, _ operate.Attribution) (storage, error) {
		a, err := o.Account(ctx, p.Account)
		if err != nil {
			return storage{}, err
		}
		return o.storageOf(ctx, a)
	},
}.Untyped()

var setStorage = action.Of[Service, storageParams, storage]{
	Spec: action.Spec{
		ID: "adminSetStorage", Route: "PUT /accounts/{account}/storage", Schema: "AdminStorage", Reason: action.Optional,
		Summary: "Set the storage limit of an account. It takes effect within a second.",
		Help:    map[string]string{"limit_bytes": "storage limit: 50GiB, 1073741824, none, or default (MILLRACE_ACCOUNT_STORAGE)"},
		Commands: []action.Command{{
			Use: "storage ACCOUNT", Short: "Show the stored bytes of an account, or change its storage limit",
			Long: `Show the stored bytes of an account: uploads, references, outputs of its jobs, copied answers of models and
files of its editor, each by its size; or change its storage limit. At the limit, uploads, submissions and
model calls are refused with 403 storage_quota_exceeded; accepted jobs keep their outputs. The change is in
force within a second, in every process, and is recorded with its actor and reason.`,
			Example: `  millrace accounts storage acme
  millrace accounts storage acme --limit 50GiB --reason "contract of May"
  millrace accounts storage acme --limit default --reason "contract ended"
  millrace accounts storage acme --check`,
		}},
	},
	Do: func(ctx context.Context, o Service, p storageParams, by operate.Attribution) (storage, error) {
		a, err := o.Account(ctx, p.Account)
		if err != nil {
			return storage{}, err
		}
		if p.Limit.given {
			if by.Reason == "" {
				return storage{}, errNoReason
			}
			if a, err = o.change(ctx, account.Change{Account: a.ID, Storage: &account.StorageLimit{Bytes: p.Limit.bytes}}, by); err != nil {
				return storage{}, err
			}
		}
		if p.Check {
			if err := o.checkStorage(ctx, a); err != nil {
				return storage{}, err
			}
		}
		return o.storageOf(ctx, a)
	},
	Show: func(out *terminal.Printer, _ storageParams, s storage) {
		out.Printf("%s: %s\n", s.Name, describeStorage(s.Storage))
	},
}.Untyped()

// describeStorage describes the storage of an account.
func describeStorage(kept account.Storage) string {
	text := fmt.Sprintf("stores %s in %d files, no limit", amount.Bytes(kept.Bytes), kept.Files)
	if kept.Limit == 0 {
		return text
	}
	text = fmt.Sprintf("stores %s of %s in %d files", amount.Bytes(kept.Bytes), amount.Bytes(kept.Limit), kept.Files)
	if kept.Full() {
		text += ": full, new files are refused"
	}
	return text
}

// checkStorage adds up the records of an account's files, and returns an error if the sum is not the stored count.
func (a Service) checkStorage(ctx context.Context, of account.Account) error {
	counted, kept, err := a.storage.Recount(ctx, of.ID)
	if err == nil && counted != kept {
		err = fmt.Errorf("the records of %s add up to %d bytes in %d files, but the stored count is %d bytes in %d files",
			terminal.Clean(of.Name), counted.Bytes, counted.Files, kept.Bytes, kept.Files)
	}
	return err
}
