package weights

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
)

// Links makes links to assets that need no credential; signedurl.Signer implements it.
type Links interface {
	SignFor(ttl time.Duration, asset, hash, filename, contentType string) (path string, expires time.Time)
}

// linkFor is how long a link of a weight can be opened. A file that takes longer is fetched in several attempts.
const linkFor = time.Hour

// fetch has the node pack of the server fetch the weight from this service.
func (p *placing) fetch(ctx context.Context) error {
	client, s, err := p.Pool.Server(p.server.ID)
	if err != nil {
		return err
	}
	link, _ := p.Links.SignFor(linkFor, string(p.weight.ID), p.copy.Hash.String(), path.Base(p.copy.Name), "application/octet-stream")
	w := comfyui.Weight{
		URL: p.Pool.Home(s) + link, Folder: p.copy.Folder, Name: p.copy.Name, Size: p.copy.Size, Reserve: p.Reserve, BLAKE3: p.copy.Hash.Hex(),
	}
	progress := func(done int64) error { return p.keep(ctx, done) }
	got, err := client.Bring(ctx, w, progress)
	if err == nil && got.NeedsSHA256 {
		if w.SHA256, err = p.sha256(ctx); err == nil {
			got, err = client.Bring(ctx, w, progress)
		}
	}
	p.way, p.sent = "fetch", got.Sent
	if got.Present {
		p.way = present
	}
	return err
}

// sha256 returns the SHA-256 of the weight, for a server without a library for the hash of blobs.
func (p *placing) sha256(ctx context.Context) (string, error) {
	r, err := p.Blobs.Open(ctx, p.copy.Hash)
	if err != nil {
		return "", err
	}
	defer r.Close() // read only
	h := sha256.New()
	_, err = io.Copy(h, &kept{placing: p, ctx: ctx, r: r})
	return hex.EncodeToString(h.Sum(nil)), err
}
