package router

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Assets records assets.
type Assets interface {
	Create(ctx context.Context, n asset.New) (asset.Stored, error)
	Reference(ctx context.Context, n asset.New) (made asset.Stored, same bool, err error)
}

// Signer makes links to assets that are valid for at most ttl.
type Signer interface {
	SignFor(ttl time.Duration, asset, hash, filename, contentType string) (path string, expires time.Time)
}

// Hosting copies the assets of answers to the service's storage and replaces their addresses by links to the copies.
// It implements activities.Hosts.
type Hosting struct {
	Catalog   *catalog.Catalog
	Fetch     provider.Fetcher
	Lookup    func(string) (string, bool) // the environment with the operator's credentials
	Blobs     blob.Store
	Assets    Assets
	Signer    Signer
	Base      string                    // public address of the service; "" = the address that the call was sent to
	Heartbeat func(ctx context.Context) // called while a copy makes progress; may be nil
	Log       *slog.Logger
}

// maxRewritten bounds an answer whose addresses are replaced, because such an answer is read into memory.
const maxRewritten = 32 << 20

// Host copies the assets that the model's hosting rule selects. If a copy fails, the provider's address stays in the
// answer; a failed copy never fails the call.
func (h *Hosting) Host(ctx context.Context, c call.Call) (call.HostedV1, error) {
	out := call.HostedV1{Answer: *c.Answer, Assets: []call.HostedAsset{}}
	w, unknown := wireOf(h.Catalog, "", c.Model, c.Server, c.Options.Strict && c.Fallback == "")
	base := h.base(c)
	if unknown != nil || base == "" || c.Answer.Size > maxRewritten {
		h.Log.Warn("answer assets not copied", "call_id", c.ID, "error", unknown, "base", base, "size", c.Answer.Size)
		out.Failed = 1
		return out, nil
	}
	document, err := h.document(ctx, *c.Answer)
	if err != nil {
		return out, err
	}
	refs, err := provider.Assets(w.result(), document)
	if err != nil { // despite its content type, the answer is not JSON: the caller gets it unchanged
		h.Log.Warn("search for answer assets failed", "call_id", c.ID, "error", err)
		out.Failed = 1
		return out, nil
	}
	urls := map[string]string{}
	for i, ref := range refs {
		copied, link, err := h.copy(ctx, c, w, i, ref)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			h.Log.Warn("asset copy failed", "call_id", c.ID, "pointer", ref.Pointer, "error", err)
			out.Failed++
			continue
		}
		urls[ref.Pointer] = base + link
		out.Assets = append(out.Assets, copied)
	}
	if len(urls) == 0 {
		return out, nil
	}
	out.Answer, err = h.rewrite(ctx, *c.Answer, document, urls)
	return out, err
}

func (h *Hosting) base(c call.Call) string {
	if h.Base != "" {
		return strings.TrimSuffix(h.Base, "/")
	}
	return c.Base
}

func (h *Hosting) document(ctx context.Context, answer call.Body) ([]byte, error) {
	r, err := h.Blobs.Open(ctx, answer.Ref)
	if err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (h *Hosting) rewrite(ctx context.Context, answer call.Body, document []byte, urls map[string]string) (call.Body, error) {
	rewritten, err := provider.Rewrite(document, urls)
	if err != nil {
		return answer, err
	}
	ref, err := blob.PutBytes(ctx, h.Blobs, rewritten)
	if err != nil {
		return answer, fmt.Errorf("store a rewritten answer: %w", err)
	}
	return call.Body{Ref: ref, Size: int64(len(rewritten)), ContentType: answer.ContentType}, nil
}

// copy stores one asset and returns the path of a link to it.
func (h *Hosting) copy(ctx context.Context, c call.Call, w wire, index int, ref provider.AssetRef) (call.HostedAsset, string, error) {
	content, err := provider.Fetch(ctx, h.Fetch, w.entry, h.Lookup, ref.URL)
	if err != nil {
		return call.HostedAsset{}, "", err
	}
	defer content.Close()
	stored, err := blob.Put(ctx, h.Blobs, blob.Durable, h.withHeartbeat(ctx, content))
	if err != nil {
		return call.HostedAsset{}, "", err
	}
	name := filename(ref.URL, index, content.ContentType)
	filePath := fmt.Sprintf("calls/%s/%s", c.ID, name)
	now := time.Now().UTC().Truncate(time.Millisecond)
	deadline := now.Add(w.result().Hosting.Lifetime)
	made, err := h.record(ctx, asset.New{
		Account: c.Account, Origin: asset.Hosted, Hash: stored.Ref, Size: stored.Size,
		ContentType: mediaType(content.ContentType), FilePath: &filePath, CreatedAt: &now, Deadline: &deadline, RequestID: string(c.ID),
	})
	if err != nil {
		return call.HostedAsset{}, "", err
	}
	link, _ := h.Signer.SignFor(w.result().Hosting.Lifetime, string(made.ID), stored.Ref.String(), name, made.ContentType)
	return call.HostedAsset{Pointer: ref.Pointer, Asset: string(made.ID), Ref: stored.Ref, Size: stored.Size}, link, nil
}

// record makes one asset for each path. A repeated attempt finds the asset of an earlier attempt.
func (h *Hosting) record(ctx context.Context, n asset.New) (asset.Asset, error) {
	made, _, err := h.Assets.Reference(ctx, n)
	if fault.Is(err, fault.NotFound) {
		made, err = h.Assets.Create(ctx, n)
	}
	if err != nil {
		return asset.Asset{}, fmt.Errorf("record a copied asset: %w", err)
	}
	return made.Asset, nil
}

// withHeartbeat returns a reader that sends a heartbeat at each read.
func (h *Hosting) withHeartbeat(ctx context.Context, r io.Reader) io.Reader {
	if h.Heartbeat == nil {
		return r
	}
	return heartbeats{r, func() { h.Heartbeat(ctx) }}
}

type heartbeats struct {
	io.Reader
	heartbeat func()
}

func (h heartbeats) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.heartbeat()
	return n, err
}

func mediaType(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || !bytes.ContainsRune([]byte(media), '/') {
		return "application/octet-stream"
	}
	return media
}

// filename returns the name of a copy: the last element of its address if that is a plain name, otherwise its index.
func filename(address string, index int, contentType string) string {
	u, err := url.Parse(address)
	if err == nil {
		if name := path.Base(u.Path); plainName(name) {
			return fmt.Sprintf("%d-%s", index, name)
		}
	}
	extension := ""
	if known, err := mime.ExtensionsByType(mediaType(contentType)); err == nil && len(known) > 0 {
		extension = known[len(known)-1]
	}
	return fmt.Sprintf("%d%s", index, extension)
}

// plainName reports whether name is short and made of letters, digits, dots, dashes and underscores.
func plainName(name string) bool {
	const most = 100
	if name == "" || len(name) > most || name[0] == '.' || name == "/" {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}) < 0
}
