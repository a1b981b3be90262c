package deployment

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Fetcher reads the content of an address that a caller names, within bounds and from public addresses only. size is -1 if the
// source does not declare it.
type Fetcher func(ctx context.Context, address string) (content io.ReadCloser, contentType string, size int64, err error)

// file returns the value that the graph gets for a file, and the value that is recorded. The content of a data: URL or of an address
// becomes an asset, and its hash is recorded, because an address may contain a credential.
func (s *Service) file(ctx context.Context, sub job.Submission, f callable.FileValue) (value, recorded json.RawMessage, err error) {
	var stored asset.Stored
	switch f.Form {
	case callable.FormAsset:
		return reference(asset.PublicID(f.Value)), quoted(f.Value), nil
	case callable.FormHash, callable.FormName:
		return quoted(f.Value), quoted(f.Value), nil
	case callable.FormData:
		stored, err = s.storeData(ctx, sub, f.Value)
	case callable.FormURL:
		stored, err = s.storeFetched(ctx, sub, f.Value)
	}
	if err != nil {
		return nil, nil, of(f.Input, err)
	}
	return reference(stored.Asset.PublicID()), quoted(stored.Asset.Hash.String()), nil
}

// of names the input in an error about its file.
func of(input string, err error) error {
	var known *fault.Error
	if !errors.As(err, &known) || known.Kind != fault.Invalid {
		return err
	}
	return fault.Wrap(err, fault.Invalid, fault.CodeInvalidInput, "input %s: %s", input, known.Message)
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a text has always a JSON form
	return raw
}

// reference returns the reference of a graph to an asset.
func reference(id asset.PublicID) json.RawMessage {
	return fmt.Appendf(nil, `{"__type":%q,"info":{"id":%q}}`, graph.AssetType, id)
}

// storeData stores the content of a data: URL.
func (s *Service) storeData(ctx context.Context, sub job.Submission, address string) (asset.Stored, error) {
	header, text, ok := strings.Cut(address[len("data:"):], ",")
	if !ok {
		return asset.Stored{}, invalidData("it has no comma")
	}
	kind, encoded := strings.CutSuffix(header, ";base64")
	var content io.Reader
	if encoded {
		if strings.Contains(text, "%") {
			text, _ = url.PathUnescape(text) // what remains escaped is no base64
		}
		content = base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
	} else {
		plain, err := url.PathUnescape(text)
		if err != nil {
			return asset.Stored{}, invalidData("its text is not escaped correctly")
		}
		content = strings.NewReader(plain)
	}
	raw, err := io.ReadAll(content) // the body of the request is bounded
	if err != nil {
		return asset.Stored{}, invalidData("it is not encoded in base64")
	}
	return s.store(ctx, sub, kind, int64(len(raw)), bytes.NewReader(raw))
}

func invalidData(reason string) error {
	return fault.New(fault.Invalid, fault.CodeInvalidInput, "the data: URL cannot be read: %s", reason)
}

// storeFetched stores the content of an address.
func (s *Service) storeFetched(ctx context.Context, sub job.Submission, address string) (asset.Stored, error) {
	if s.Fetch == nil {
		return asset.Stored{}, fault.New(fault.Invalid, fault.CodeInvalidInput, "addresses are not fetched here: upload the file")
	}
	content, kind, size, err := s.Fetch(ctx, address)
	if err != nil {
		return asset.Stored{}, err
	}
	defer content.Close()
	return s.store(ctx, sub, kind, max(size, 1), content)
}

// store makes an asset of a content, or finds the equal one of the account.
func (s *Service) store(ctx context.Context, sub job.Submission, kind string, size int64, content io.Reader) (asset.Stored, error) {
	if s.Space != nil {
		if err := s.Space(ctx, sub.Account, size); err != nil {
			return asset.Stored{}, err
		}
	}
	in, err := s.Assets.Receive(ctx, sub.Account, nil)
	if err != nil {
		return asset.Stored{}, err
	}
	defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	if _, err := io.Copy(in, content); err != nil {
		return asset.Stored{}, err
	}
	if kind, _, err = mime.ParseMediaType(kind); err != nil {
		kind = "application/octet-stream"
	}
	spec := asset.Spec{Account: sub.Account, ContentType: kind, RequestID: sub.RequestID}
	hash, _ := in.Sum()
	if known, _, err := s.Assets.Reference(ctx, hash, spec); !fault.Is(err, fault.NotFound) {
		return known, err
	}
	return s.Assets.Create(ctx, in, nil, spec)
}
