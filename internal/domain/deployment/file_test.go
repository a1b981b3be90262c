package deployment_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/faulttest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// owned is a store in which the account has every file already.
type owned struct{ *brought }

func (owned) HasBytes(context.Context, string, blob.Ref) (bool, error) { return true, nil }

func (o owned) Reference(_ context.Context, n asset.New) (asset.Stored, bool, error) {
	return asset.Stored{Asset: asset.Asset{ID: "known", Hash: n.Hash}}, true, nil
}

// closing is a content that notes that it was closed.
type closing struct {
	io.Reader
	closed *int
}

func (c closing) Close() error {
	*c.closed++
	return nil
}

// A file that cannot be brought refuses the call and names the input, if the caller can mend it.
func TestAFileThatCannotBeBroughtRefusesTheCall(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	const address, data = "https://example.com/a.png", "data:image/png;base64,eA=="
	for name, c := range map[string]struct {
		value  string
		change func(*filling, *int)
		err    error  // nil = says
		says   string // "" = the call is accepted
		kind   fault.Kind
		asset  string
		closed int
	}{
		"taken":        {value: address, asset: "made", closed: 1},
		"there before": {value: address, change: func(f *filling, _ *int) { f.with(owned{&brought{}}) }, asset: "known", closed: 1},
		"broken": {value: address, change: func(f *filling, closed *int) {
			f.Fetch = func(context.Context, string) (io.ReadCloser, string, int64, error) {
				return closing{iotest.ErrReader(broken), closed}, "", -1, nil
			}
		}, err: broken, closed: 1},
		"no fetching": {
			value: address, change: func(f *filling, _ *int) { f.Fetch = nil },
			says: "input photo: addresses are not fetched here: upload the file", kind: fault.Invalid,
		},
		"an address that is refused": {value: address, change: func(f *filling, _ *int) {
			f.Fetch = func(context.Context, string) (io.ReadCloser, string, int64, error) {
				return nil, "", 0, fault.New(fault.Invalid, fault.CodeInvalidRequest, "no such host")
			}
		}, says: "input photo: no such host", kind: fault.Invalid},
		"no data":  {value: "data:image/png;base64,!", says: "input photo: the data: URL cannot be read", kind: fault.Invalid},
		"data":     {value: data, asset: "made"},
		"no space": {value: data, change: func(f *filling, _ *int) { f.Space = tooLittle }, says: "1 byte", kind: fault.Denied},
		"a size of -1": {
			value: address, change: func(f *filling, _ *int) { f.Space = tooLittle }, says: "1 byte", kind: fault.Denied, closed: 1,
		},
		"without a bound of space": {value: data, change: func(f *filling, _ *int) { f.Space = nil }, asset: "made"},
		"without other keys":       {value: address, change: func(f *filling, _ *int) { f.Keys = nil }, asset: "made", closed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, in, _ := newWorld(t, &faulttest.Calls{})
			closed := 0
			f.Fetch = func(context.Context, string) (io.ReadCloser, string, int64, error) {
				return closing{strings.NewReader("x"), &closed}, "image/png", -1, nil
			}
			if c.change != nil {
				c.change(&f, &closed)
			}
			_, err := f.Call(t.Context(), deployment.Call{Deployment: "portrait", Version: 2, Submission: job.Submission{
				Account: "acme", IdempotencyKey: "k", Inputs: map[string]json.RawMessage{"photo": json.RawMessage(`"` + c.value + `"`)},
			}})
			require.Equal(t, c.closed, closed)
			switch {
			case c.err != nil:
				require.ErrorIs(t, err, c.err)
			case c.says != "":
				require.ErrorContains(t, err, c.says)
				require.Equal(t, c.kind, fault.KindOf(err))
			default:
				require.NoError(t, err)
				require.Contains(t, string(in.taken[0].Prompt), `"id":"`+c.asset+`"`)
				return
			}
			require.Empty(t, in.taken)
		})
	}
}

// tooLittle refuses every file with its size.
func tooLittle(_ context.Context, _ string, bytes int64) error {
	return fault.New(fault.Denied, fault.CodeStorageQuotaExceeded, "no space for %d byte", bytes)
}

// with has the files of calls come into a store.
func (f *filling) with(store asset.Store) {
	f.Assets = asset.NewService(store, everyBlob{f.blobs}, asset.Options{})
}

// everyBlob has every blob.
type everyBlob struct{ blob.Store }

func (everyBlob) Touch(context.Context, blob.Ref) error { return nil }
