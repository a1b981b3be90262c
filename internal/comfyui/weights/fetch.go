package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Links makes links to assets that need no credential; signedurl.Signer implements it.
type Links interface {
	SignFor(ttl time.Duration, asset, hash, filename, contentType string) (path string, expires time.Time)
}

// linkFor is how long a link of a weight can be opened. A file that takes longer is fetched in several attempts.
const linkFor = time.Hour

// fetch has the node pack of the server fetch the weight from this service, after it has removed others if the disk is full.
func (p *placing) fetch(ctx context.Context) error {
	client, s, err := p.Pool.Server(p.want.Server.ID)
	if err != nil {
		return err
	}
	link, _ := p.Links.SignFor(linkFor, string(p.weight.ID), p.copy.Hash.String(), path.Base(p.copy.Name), "application/octet-stream")
	link = p.Pool.Home(s) + link
	got, err := p.ask(ctx, client.Bring, *p.copy, link, p.keep(ctx))
	if got.Lacks > 0 {
		if err = p.evict(ctx, client.Evict, got.Lacks); err == nil {
			got, err = p.ask(ctx, client.Bring, *p.copy, link, p.keep(ctx))
		}
	}
	p.way, p.sent = "fetch", got.Sent
	if got.Present {
		p.way = present
	}
	return err
}

// evict has the node pack remove copies, until it has removed as many bytes as the disk lacks.
func (p *placing) evict(ctx context.Context, evict request, missing int64) error {
	lacks := func() (int64, error) { return missing, nil }
	return p.makeSpace(ctx, lacks, func(ctx context.Context, c server.Copy) (bool, error) {
		gone, err := p.ask(ctx, evict, c, "", func(int64) error {
			if slices.Contains(p.inUse(), c.Name) {
				return errors.New("a segment was placed that needs the copy")
			}
			return p.keep(ctx)(0)
		})
		if gone.Removed {
			missing -= c.Size
		}
		if fault.CodeOf(err) == fault.CodeBlobNotFound { // without its SHA-256, the server cannot know the file
			err = nil
		}
		return gone.Removed, err
	})
}

// request is comfyui.Packs.Bring or Evict.
type request = func(ctx context.Context, w comfyui.Weight, progress func(done int64) error) (comfyui.Brought, error)

// ask sends a request about a copy, with its SHA-256 if the server has no library for the hash of blobs.
func (p *placing) ask(ctx context.Context, send request, c server.Copy, link string, progress func(int64) error) (comfyui.Brought, error) {
	w := comfyui.Weight{URL: link, Folder: c.Folder, Name: c.Name, Size: c.Size, Reserve: p.Reserve, BLAKE3: c.Hash.Hex()}
	got, err := send(ctx, w, progress)
	if err != nil || !got.NeedsSHA256 {
		return got, err
	}
	r, err := p.Blobs.Open(ctx, c.Hash)
	if err != nil {
		return got, err
	}
	defer r.Close() // read only
	h := sha256.New()
	if _, err := io.Copy(h, &kept{progress, r, 0}); err != nil {
		return got, err
	}
	w.SHA256 = hex.EncodeToString(h.Sum(nil))
	return send(ctx, w, progress)
}
