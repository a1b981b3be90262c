// Package weights implements the operators' commands on weights: the model files that ComfyUI servers get when they need them. A weight
// is an asset, of an account or of all accounts. Every change is recorded with its actor and reason.
package weights

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/serverstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Service reads and changes the weights of all accounts.
type Service struct {
	Pool      *postgres.Pool
	Assets    *asset.Service
	Store     *assetstore.Store
	Downloads *assetstore.Downloads
	Servers   *serverstore.Store
	Blobs     blob.Store
	Space     func(ctx context.Context, account string, bytes int64) error // refuses a file for which there is no space
	Session   operate.Session

	files.WeightSources                     // from which Fetch may be asked to fetch
	report              func(task.Progress) // of the download that is awaited; nil = nobody
}

// Actions are what operators do to weights.
var Actions = action.Group[*Service]{
	Use:   "weights",
	Short: "Store model files once, for every ComfyUI server that needs them",
	Long: `Weights are model files: checkpoints, LoRAs, VAEs. A weight is stored once, and the servers whose models folder
Millrace reaches get it when a job needs it. It belongs to all accounts unless --account names one. WEIGHT is an id, a
name, or FOLDER/NAME.

"millrace models" is the catalog of partner models.`,
	Example: `  millrace weights put sd_xl_base_1.0.safetensors --folder checkpoints
  millrace weights put https://example.com/lora.safetensors --folder loras --hash blake3:…
  millrace weights list
  millrace weights where sd_xl_base_1.0.safetensors
  millrace weights rm checkpoints/sd_xl_base_1.0.safetensors`,
	Actions: []action.For[*Service]{put, list, where, get, Remove, downloaded},
}

// all is the name of all accounts in commands and requests.
const all = "all"

// Resolve implements action.Resolver: it returns the id of an account by its name or id.
func (o *Service) Resolve(ctx context.Context, _, text string) (string, error) {
	switch text {
	case all, account.Everyone:
		return account.Everyone, nil
	case "", account.LocalID: // the local account exists in the modes without accounts
		return text, nil
	}
	a, err := operate.Account(ctx, o.Pool, text)
	return a.ID, err
}

// chosen are the parameters of actions on one weight.
type chosen struct {
	Weight  string `name:"weight" arg:"WEIGHT"`
	Account string `name:"account" resolve:"account" help:"account of the weight, or all for those of all accounts; default: any"`
}

// find returns the weight that an id, a name or FOLDER/NAME names.
func (o *Service) find(ctx context.Context, p chosen) (asset.Weight, error) {
	found, err := o.Store.Weights(ctx, accounts(p.Account))
	if err != nil {
		return asset.Weight{}, err
	}
	found = slices.DeleteFunc(found, func(w asset.Weight) bool {
		return !slices.Contains([]string{string(w.ID), w.Name, w.Path()}, p.Weight)
	})
	switch {
	case len(found) == 0:
		return asset.Weight{}, fault.New(fault.NotFound, fault.CodeAssetNotFound, "there is no weight %q; `millrace weights list` lists them",
			terminal.Clean(p.Weight))
	case len(found) > 1:
		return asset.Weight{}, fault.New(fault.Conflict, fault.CodeAmbiguousID, "%d weights are called %q: %s of account %s, %s of account %s; "+
			"name one by its id, or with --account", len(found), terminal.Clean(p.Weight), found[0].Path(), found[0].Account, found[1].Path(),
			found[1].Account)
	}
	return found[0], nil
}

// accounts returns the selected account, or nil for all.
func accounts(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

type listParams struct {
	Account string `name:"account" resolve:"account" help:"weights of an account, or all for those of all accounts; default: any"`
	Folder  string `name:"folder" help:"only those of a folder, such as checkpoints"`
}

// listed is a weight that is stored, or that a worker fetches.
type listed struct {
	asset.Weight

	Download *progress `json:"download,omitempty"` // nil = it is stored
}

var list = action.Of[*Service, listParams, []listed]{
	Spec: action.Spec{
		ID: "adminWeights", Route: "GET /weights", Schema: "AdminWeight", Member: "weights", List: true,
		Summary:  "List weights by folder and name, and then those that are being fetched.",
		Commands: []action.Command{{Use: "list", Short: "List weights, and how far those are that are being fetched"}},
	},
	Do: func(ctx context.Context, o *Service, p listParams, _ operate.Attribution) ([]listed, error) {
		all := []listed{} // an empty list is [], not null
		stored, err := o.Store.Weights(ctx, accounts(p.Account))
		for _, w := range stored {
			all = append(all, listed{Weight: w})
		}
		fetched, failed := o.Downloads.Open(ctx, accounts(p.Account))
		for _, d := range fetched {
			if r := d.Requested.Request; r.Weight != nil {
				w := weightOf(asset.Asset{
					ID: asset.ID(r.Asset), Account: d.Account, Place: r.Place, Metadata: r.Metadata, Size: d.Progress.Bytes, CreatedAt: d.CreatedAt,
				})
				all = append(all, listed{w, progressOf(d)})
			}
		}
		all = slices.DeleteFunc(all, func(w listed) bool { return p.Folder != "" && w.Folder != p.Folder })
		return all, errors.Join(err, failed)
	},
	Show: func(out *terminal.Printer, _ listParams, found []listed) {
		out.Columns([]string{"FOLDER", "NAME", "SIZE", "HASH", "ACCOUNT", "PUT", "SOURCE", "LICENSE"}, func(row func(...any)) {
			for _, w := range found {
				owner, content := w.Account, w.Hash.String()[:19]
				if owner == account.Everyone {
					owner = all
				}
				if w.Download != nil {
					content = w.Download.String()
				}
				row(w.Folder, w.Name, amount.Bytes(w.Size), content, owner, w.CreatedAt.Format(time.DateTime),
					terminal.OrDash(w.Source), terminal.OrDash(w.License))
			}
		})
	},
}.Untyped()

// Copied is a copy of a weight, with the servers that have it.
type Copied struct {
	server.Copy

	Servers []string `json:"servers"` // addresses
}

// Weights returns the weights of all accounts.
func (o *Service) Weights(ctx context.Context) ([]asset.Weight, error) {
	return o.Store.Weights(ctx, nil)
}

// Copies returns the copies of a weight, from one reading of those of all.
func (o *Service) Copies(ctx context.Context) (of func(asset.Weight) []Copied, err error) {
	copies, err := o.Servers.Copies(ctx, "")
	if err != nil {
		return nil, err
	}
	servers, err := o.Servers.Servers(ctx)
	return func(w asset.Weight) []Copied {
		found := []Copied{}
		for _, c := range copies {
			if c.Hash != w.Hash || c.Folder != w.Folder || c.Name != w.Name {
				continue
			}
			one := Copied{Copy: c, Servers: []string{}}
			for _, s := range servers {
				if s.Target() == c.Target {
					one.Servers = append(one.Servers, s.URL)
				}
			}
			found = append(found, one)
		}
		return found
	}, err
}

var where = action.Of[*Service, chosen, []Copied]{
	Spec: action.Spec{
		ID: "adminWeightCopies", Route: "GET /weights/{weight}/copies", Schema: "AdminWeightCopy", Member: "copies", List: true,
		Summary:  "List the copies of a weight that were brought to servers, or are being brought.",
		Refusal:  map[int]string{409: "Several weights have this name."},
		Commands: []action.Command{{Use: "where WEIGHT", Short: "Show to which servers a weight was brought"}},
	},
	Do: func(ctx context.Context, o *Service, p chosen, _ operate.Attribution) ([]Copied, error) {
		w, err := o.find(ctx, p)
		if err != nil {
			return nil, err
		}
		of, err := o.Copies(ctx)
		if err != nil {
			return nil, err
		}
		return of(w), nil
	},
	Show: func(out *terminal.Printer, _ chosen, found []Copied) {
		out.Columns([]string{"FOLDER OF MODELS", "STATE", "BYTES", "SINCE", "USED", "SERVERS", "PROBLEM"}, func(row func(...any)) {
			for _, c := range found {
				row(c.Target, c.State, c.Done, c.Since.Format(time.DateTime), c.UsedAt.Format(time.DateTime),
					terminal.OrDash(strings.Join(c.Servers, " ")), terminal.OrDash(c.Problem))
			}
		})
	},
}.Untyped()

// Remove removes a weight.
var Remove = action.Of[*Service, chosen, asset.Weight]{
	Spec: action.Spec{
		ID: "adminRemoveWeight", Route: "DELETE /weights/{weight}", Page: "/weights/:weight/remove", Reason: action.Optional,
		Schema:  "AdminWeight",
		Summary: "Remove a weight. Servers that have a copy keep it.",
		Refusal: map[int]string{409: "Several weights have this name."},
		Commands: []action.Command{{
			Use: "rm WEIGHT", Short: "Remove a weight; servers that have a copy keep it",
			Label: "Remove", Danger: true,
			Warning: "Jobs that need the file fail where no server has it. Servers that have a copy keep it.",
		}},
	},
	Do: func(ctx context.Context, o *Service, p chosen, by operate.Attribution) (asset.Weight, error) {
		w, err := o.find(ctx, p)
		if err != nil {
			return w, err
		}
		return w, o.Assets.DeleteBy(ctx, w.Account, w.ID, asset.By{Actor: by.Actor, Reason: by.Reason}, by.RequestID)
	},
	Show: func(out *terminal.Printer, _ chosen, w asset.Weight) {
		out.Printf("removed %s\n", terminal.Clean(w.Path()))
	},
	Back: func(chosen, asset.Weight) string { return "/weights" },
}.Untyped()

// nameOf returns the name that a command or a request gives, or the last part of a path.
func nameOf(given, base string) string {
	if base == "/" || base == "." {
		base = ""
	}
	return cmp.Or(given, base)
}
