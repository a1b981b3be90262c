package weights

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// source is where the bytes of a weight come from: a URL, or a file of the machine of a command.
type source struct{ url, file string }

// UnmarshalText reads an argument of a command.
func (s *source) UnmarshalText(text []byte) error {
	if address(string(text)) {
		s.url = string(text)
	} else {
		s.file = string(text)
	}
	return nil
}

// UnmarshalJSON reads a member of a request, which names no file: that would be one of the service's machine.
func (s *source) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &s.url); err != nil {
		return err
	}
	if !address(s.url) {
		return errors.New("not a URL")
	}
	return nil
}

func address(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// Takes describes the values.
func (*source) Takes() string { return "a URL, or on the command line the name of a file" }

// Schema describes the values in the OpenAPI document.
func (*source) Schema() map[string]any { return map[string]any{"type": "string", "format": "uri"} }

// wantedHash is the hash that the bytes must have; nil = any.
type wantedHash struct{ *blob.Ref }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *wantedHash) UnmarshalText(text []byte) error {
	ref, err := blob.ParseRef(string(text))
	h.Ref = &ref
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *wantedHash) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	return h.UnmarshalText([]byte(text))
}

// Takes describes the values.
func (*wantedHash) Takes() string { return "blake3: and 64 hexadecimal digits" }

// Schema describes the values in the OpenAPI document.
func (*wantedHash) Schema() map[string]any { return map[string]any{"type": "string"} }

type putParams struct {
	Source  source     `name:"url" arg:"FILE|URL" required:"route"`
	Folder  string     `name:"folder" required:"true" help:"folder of ComfyUI's models, such as checkpoints or loras"`
	Name    string     `name:"name" help:"name by which graphs find it; default: that of the file"`
	Hash    wantedHash `name:"hash" help:"refuse bytes that do not have this hash, blake3: and 64 hexadecimal digits"`
	License string     `name:"license" help:"a note on its license"`
	Account string     `name:"account" resolve:"account" default:"all" help:"account to which it belongs; default: all of them"`
	Replace bool       `name:"replace" help:"also if another file has the name, which it loses"`
	Wait    bool       `name:"wait" route:"-" default:"true" served:"false" help:"wait until a URL has been fetched"`
}

// result is a weight that was put, or the download that will put it.
type result struct {
	Weight   *asset.Weight `json:"weight,omitempty"`
	Same     bool          `json:"same,omitempty"` // the weight was there before
	Download *progress     `json:"download,omitempty"`
}

// progress is a download of a weight.
type progress struct {
	ID      task.ID    `json:"id"`
	Account string     `json:"account"`
	State   task.State `json:"state"`
	Error   string     `json:"error,omitempty"` // also of the last attempt, if another one follows
	Size    int64      `json:"size,omitempty"`  // 0 = not known
	Done    int64      `json:"done,omitempty"`  // bytes
}

var put = action.Of[*Service, putParams, result]{
	Spec: action.Spec{
		ID: "adminPutWeight", Route: "POST /weights", Reason: action.Optional, Status: 202, Schema: "AdminWeightPut",
		Summary: "Fetch a weight from a URL in the background.",
		Detail: `The answer has the download, whose state GET /weight-downloads/{download} shows. Only public addresses are
fetched. Files of this machine are put by "millrace weights put".`,
		Refusal: map[int]string{409: "Another file has the name, or the bytes do not have the hash."},
		Commands: []action.Command{{
			Use: "put FILE|URL --folder FOLDER", Short: "Store a model file of this machine, or of a URL",
			Example: `  millrace weights put sd_xl_base_1.0.safetensors --folder checkpoints
  millrace weights put https://example.com/lora.safetensors --folder loras --name styles/ink.safetensors`,
		}},
	},
	Do: func(ctx context.Context, o *Service, p putParams, by operate.Attribution) (result, error) {
		if p.Source.url != "" {
			return o.putURL(ctx, p, "", by)
		}
		return o.putFile(ctx, p, by)
	},
	Show: func(out *terminal.Printer, _ putParams, r result) {
		switch {
		case r.Download != nil:
			out.Printf("download %s: %s\n", r.Download.ID, r.Download)
		case r.Same:
			out.Printf("%s is stored already, with the same bytes\n", terminal.Clean(r.Weight.Path()))
		default:
			out.Printf("%s is stored: %d bytes, %s\n", terminal.Clean(r.Weight.Path()), r.Weight.Size, r.Weight.Hash)
		}
	},
}.Untyped()

// spec returns the asset to make.
func (p putParams) spec(base string, notes asset.WeightNotes, by operate.Attribution) (asset.Spec, error) {
	place, err := files.WeightPlace(p.Folder, nameOf(p.Name, base))
	if err != nil {
		return asset.Spec{}, err
	}
	if len(notes.License) > maxNote || len(notes.Source) > maxNote {
		return asset.Spec{}, fault.New(fault.Invalid, fault.CodeInvalidRequest, "a note on a weight may have at most %d bytes", maxNote)
	}
	at := files.Join(place)
	spec := asset.Spec{
		Account: p.Account, ContentType: "application/octet-stream", FilePath: &at, Place: &place, ExpiresIn: asset.Forever,
		RequestID: by.RequestID, Naming: asset.KeepsName, By: asset.By{Actor: by.Actor, Reason: by.Reason},
		About: asset.About{Metadata: notes.Metadata()},
	}
	if p.Replace {
		spec.Naming = asset.MovesName
	}
	return spec, nil
}

// maxNote bounds a note on a weight, in bytes.
const maxNote = 2000

// putFile stores a file of this machine.
func (o *Service) putFile(ctx context.Context, p putParams, by operate.Attribution) (result, error) {
	spec, err := p.spec(filepath.Base(p.Source.file), asset.WeightNotes{Source: filepath.Base(p.Source.file), License: p.License}, by)
	if err != nil {
		return result{}, err
	}
	f, err := os.Open(p.Source.file)
	if err != nil {
		return result{}, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
	}
	defer f.Close() // read only
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s is not a regular file", terminal.Clean(p.Source.file))
	}
	if err == nil {
		err = o.Space(ctx, p.Account, info.Size())
	}
	if err != nil {
		return result{}, err
	}
	in, err := o.Assets.Receive(ctx, p.Account, p.Hash.Ref)
	if err != nil {
		return result{}, err
	}
	defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	read := &counted{ctx: ctx, r: f, total: info.Size(), step: o.Session.Step("put "+terminal.Clean(info.Name()), "bytes")}
	if _, err := io.Copy(in, read); err != nil {
		return result{}, err
	}
	made, err := o.Assets.Create(ctx, in, p.Hash.Ref, spec)
	if err != nil {
		return result{}, err
	}
	w := weightOf(made.Asset)
	return result{Weight: &w, Same: made.Existing}, nil
}

// former returns the weight of the same account, folder and name, or nil.
func (o *Service) former(ctx context.Context, spec asset.Spec) (*asset.Weight, error) {
	found, err := o.Store.Weights(ctx, []string{spec.Account})
	folder, name, _ := spec.Place.ModelPath()
	for _, w := range found {
		if w.Folder == folder && w.Name == name {
			return &w, err
		}
	}
	return nil, err
}

// weightOf returns an asset as a weight.
func weightOf(a asset.Asset) asset.Weight {
	w := asset.Weight{ID: a.ID, Account: a.Account, Hash: a.Hash, Size: a.Size, CreatedAt: a.CreatedAt, Rejected: a.State == asset.Rejected}
	w.Folder, w.Name, _ = a.Place.ModelPath()
	_ = json.Unmarshal(a.Metadata, &w.WeightNotes) // other metadata gives no notes
	return w
}

// counted reports how much of a file was read, and ends with its context.
type counted struct {
	ctx         context.Context //nolint:containedctx // lives for one call
	r           io.Reader
	done, total int64
	step        func(done, total int64)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.step(c.done, c.total)
	return n, err
}

// Fetch makes a weight of all accounts of a model file that a workflow names, and returns when it is stored. Meanwhile it reports how far
// the download is. Calls for the same file at the same time share one download, which continues when ctx ends.
func (o *Service) Fetch(ctx context.Context, m uiworkflow.Model, report func(task.Progress)) error {
	watched := *o
	watched.report = report
	p := putParams{Source: source{url: m.URL}, Folder: m.Folder, Name: m.Name, Account: account.Everyone, Wait: true}
	by := operate.Attribution{Actor: "worker", Reason: "the workflow of a job names this address"}
	r, err := watched.putURL(ctx, p, m.SHA256(), by)
	if err == nil && r.Weight != nil && r.Weight.Rejected {
		err = fault.New(fault.Invalid, fault.CodeInvalidRequest, "a scan has rejected the file")
	}
	return err
}

// putURL has a URL fetched by a worker. The bytes must have the SHA-256, unless it is "".
func (o *Service) putURL(ctx context.Context, p putParams, sha256 string, by operate.Attribution) (result, error) {
	u, err := url.Parse(p.Source.url)
	if err != nil || u.Host == "" || u.User != nil {
		return result{}, fault.New(fault.Invalid, fault.CodeSourceURLFormat, "the url must be absolute and contain no credentials")
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	spec, err := p.spec(path.Base(u.Path), asset.WeightNotes{Source: shown, License: p.License}, by)
	if err != nil {
		return result{}, err
	}
	former, err := o.former(ctx, spec)
	if err != nil {
		return result{}, err
	}
	if former != nil && p.Hash.Ref != nil && former.Hash == *p.Hash.Ref {
		return result{Weight: former, Same: true}, nil
	}
	if former != nil && !p.Replace && p.Hash.Ref != nil {
		return result{}, fault.New(fault.Conflict, fault.CodeNameTaken, "%s is the name of a weight with other bytes, which has the hash %s",
			former.Path(), former.Hash)
	}
	_, name, _ := spec.Place.ModelPath()
	accepted, err := o.Downloads.Create(ctx, p.Account, download.Request{
		Source: p.Source.url, Asset: asset.PublicID(uuid.NewString()), Name: name, Guess: mime.TypeByExtension(path.Ext(name)),
		FilePath: spec.FilePath, Place: spec.Place, Metadata: json.RawMessage(spec.Metadata),
		Weight: &download.Weight{Hash: p.Hash.Ref, SHA256: sha256, Replace: p.Replace, By: spec.By},
	}, by.RequestID)
	if err != nil || !p.Wait {
		return result{Download: progressOf(accepted)}, err
	}
	return o.await(ctx, accepted, spec)
}

// String describes the download for people.
func (p *progress) String() string {
	switch {
	case p.Error != "":
		return string(p.State) + ": " + p.Error
	case p.Size > 0:
		return fmt.Sprintf("%d%% fetched", 100*p.Done/p.Size)
	}
	return string(p.State)
}

func progressOf(d download.Download) *progress {
	p := &progress{ID: d.ID, Account: d.Account, State: d.State, Error: d.Progress.Problem, Size: d.Progress.Bytes, Done: d.Progress.Done}
	if d.Failure != nil {
		p.Error = d.Failure.Message
	}
	return p
}

// pollEvery is the time between two looks at a download that a command waits for.
const pollEvery = 500 * time.Millisecond

// await waits for the end of a download. The download goes on when the command ends.
func (o *Service) await(ctx context.Context, d download.Download, spec asset.Spec) (result, error) {
	if o.Session.Remark != nil {
		o.Session.Remark("a worker fetches " + spec.Place.Filename + " as download " + string(d.ID))
	}
	step := o.Session.Step("fetch "+terminal.Clean(spec.Place.Filename), "bytes")
	problem := ""
	for !d.State.Final() {
		if o.report != nil {
			o.report(d.Progress)
		}
		if d.Progress.Bytes > 0 {
			step(d.Progress.Done, d.Progress.Bytes)
		}
		if p := d.Progress.Problem; p != problem && p != "" && o.Session.Remark != nil {
			o.Session.Remark("another attempt follows: " + terminal.Clean(p))
		}
		problem = d.Progress.Problem
		err := pause.For(ctx, pollEvery)
		if err != nil {
			return result{}, err
		}
		if d, err = o.Downloads.Get(ctx, d.Account, d.ID); err != nil {
			return result{}, err
		}
	}
	if d.State == task.Failed {
		return result{}, fault.New(fault.Invalid, fault.Code(d.Failure.Code), "%s", d.Failure.Message)
	}
	w, err := o.former(ctx, spec)
	if err != nil || w == nil { // it was removed in the meantime
		return result{Download: progressOf(d)}, err
	}
	return result{Weight: w, Same: d.Done.Found}, nil
}

type downloadParams struct {
	Download string `name:"download"`
	Account  string `name:"account" resolve:"account" default:"all" help:"account of the weight"`
}

var downloaded = action.Of[*Service, downloadParams, *progress]{
	Spec: action.Spec{
		ID: "adminWeightDownload", Route: "GET /weight-downloads/{download}", Schema: "AdminWeightDownload",
		Summary: "Get the state of the download of a weight.",
	},
	Do: func(ctx context.Context, o *Service, p downloadParams, _ operate.Attribution) (*progress, error) {
		id, err := task.ParseID(p.Download)
		if err != nil {
			return nil, err
		}
		owner := p.Account
		owner = cmp.Or(owner, account.Everyone)
		d, err := o.Downloads.Get(ctx, owner, id)
		if err == nil && d.Requested.Request.Weight == nil {
			err = fault.New(fault.NotFound, fault.CodeNotFound, "there is no such download of a weight")
		}
		return progressOf(d), err
	},
}.Untyped()

type getParams struct {
	chosen

	Output string `name:"output" short:"o" help:"file to write; default: the last part of its name, in this directory"`
}

// written is a weight that was written to a file.
type written struct {
	asset.Weight

	File string `json:"file"`
}

var get = action.Of[*Service, getParams, written]{
	Spec: action.Spec{Commands: []action.Command{{Use: "get WEIGHT", Short: "Write a weight to a file of this machine"}}},
	Do: func(ctx context.Context, o *Service, p getParams, _ operate.Attribution) (w written, err error) {
		if w.Weight, err = o.find(ctx, p.chosen); err != nil {
			return w, err
		}
		if w.File = p.Output; w.File == "" {
			w.File = path.Base(w.Name)
		}
		return w, o.write(ctx, w)
	},
	Show: func(out *terminal.Printer, _ getParams, w written) {
		out.Printf("%s: %d bytes, %s\n", terminal.Clean(w.File), w.Size, w.Hash)
	},
}.Untyped()

// write writes a weight to a file that does not exist, under another name until it is complete.
func (o *Service) write(ctx context.Context, w written) error {
	r, err := o.Blobs.Open(ctx, w.Hash)
	if err != nil {
		return err
	}
	defer r.Close() // read only
	f, err := os.CreateTemp(filepath.Dir(w.File), ".millrace-*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its own name by then, or nobody needs it
	read := &counted{ctx: ctx, r: r, total: w.Size, step: o.Session.Step("get "+terminal.Clean(w.Name), "bytes")}
	_, err = io.Copy(f, read)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	if err := os.Link(f.Name(), w.File); err != nil {
		return fault.Wrap(err, fault.Conflict, fault.CodeNameTaken, "%s cannot be written: %v", terminal.Clean(w.File), errors.Unwrap(err))
	}
	return nil
}
