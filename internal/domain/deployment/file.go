package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound/dataurl"
)

// Fetcher reads the content of an address that a caller names, within bounds and from public addresses only. size is -1 if the
// source does not declare it.
type Fetcher func(ctx context.Context, address string) (content io.ReadCloser, contentType string, size int64, err error)

// file returns the value that the graph gets for a file, and the value that is recorded. The content of a data: URL or of an address
// becomes an asset, and its hash is recorded, because an address may contain a credential.
func (s *Service) file(
	ctx context.Context, sub job.Submission, files map[string]storedFile, f callable.FileValue,
) (value, recorded json.RawMessage, err error) {
	switch f.Form {
	case callable.FormAsset:
		return reference(asset.PublicID(f.Value)), quoted(f.Value), nil
	case callable.FormHash, callable.FormName:
		return quoted(f.Value), quoted(f.Value), nil
	case callable.FormData, callable.FormURL:
	}
	known, ok := files[f.Value]
	if !ok {
		stored, err := s.bring(ctx, sub, f)
		if err != nil {
			return nil, nil, of(f.Input, err)
		}
		known = storedFile{reference(stored.Asset.PublicID()), quoted(stored.Asset.Hash.String())}
		files[f.Value] = known
	}
	return known.value, known.recorded, nil
}

// storedFile is a file that a call brought: the value of its input in the graph, and the recorded value.
type storedFile struct{ value, recorded json.RawMessage }

// bring stores the content of a data: URL or of an address. Nothing is fetched for a key that is in use.
func (s *Service) bring(ctx context.Context, sub job.Submission, f callable.FileValue) (asset.Stored, error) {
	if f.Form == callable.FormData {
		return s.storeData(ctx, sub, f.Value)
	}
	if sub.IdempotencyKey != "" && s.Keys != nil {
		if err := s.Keys.Check(ctx, sub.Account, job.KeyOperation, sub.IdempotencyKey); err != nil {
			return asset.Stored{}, err
		}
	}
	return s.storeFetched(ctx, sub, f.Value)
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

// storeData stores the content of a data: URL. The body of the request bounds it.
func (s *Service) storeData(ctx context.Context, sub job.Submission, address string) (asset.Stored, error) {
	file, err := dataurl.Parse(address)
	if err != nil {
		return asset.Stored{}, fault.New(fault.Invalid, fault.CodeInvalidInput, "the data: URL cannot be read: %s", err)
	}
	return s.store(ctx, sub, file.MediaType, int64(len(file.Content)), bytes.NewReader(file.Content))
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
