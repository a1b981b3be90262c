package upkeep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"mime"
	"strings"

	"go.temporal.io/sdk/activity"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/download"
	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/stream"
)

// DownloadRecords stores the progress and the end of downloads.
type DownloadRecords interface {
	TaskRecords[download.Download, download.FailedV1]
	// Complete ends the download with its asset. A second call changes nothing.
	Complete(ctx context.Context, ref task.Ref, done download.CompletedV1) error
	// Get returns a download of the account with the progress that was last recorded.
	Get(ctx context.Context, account string, id task.ID) (download.Download, error)
	// RecordProgress records how far a download is, or why it waits.
	RecordProgress(ctx context.Context, p task.Progress) error
}

// Receiver makes assets of bytes; asset.Service implements it.
type Receiver interface {
	// Receive begins an upload; see asset.Service.
	Receive(ctx context.Context, account string, expected *blob.Ref) (*asset.Incoming, error)
	// Create turns received bytes into an asset.
	Create(ctx context.Context, in *asset.Incoming, expected *blob.Ref, spec asset.Spec) (asset.Stored, error)
	// Reference makes an asset of bytes that the account already stores, or returns the existing one.
	Reference(ctx context.Context, ref blob.Ref, spec asset.Spec) (made asset.Stored, same bool, err error)
}

// Downloads holds the activities of DownloadAsset.
type Downloads struct {
	Records DownloadRecords
	Assets  Receiver
	// Find returns the asset of the account with a public id. An unknown asset is NotFound.
	Find func(ctx context.Context, account string, id asset.PublicID) (asset.Asset, error)
	// Fetch opens the content of a URL that the service may reach; size is -1 if the source does not send it. The
	// errors of Fetch, and those of reading, have texts for the owner.
	Fetch func(ctx context.Context, address string) (content io.ReadCloser, contentType string, size int64, err error)
	// FetchWeight is Fetch for the weights of operators, which are larger.
	FetchWeight func(ctx context.Context, address string) (content io.ReadCloser, contentType string, size int64, err error)
	// Fits fails if there is no space for that many more bytes, on the disk or for the account. It gets 0 for an unknown size.
	Fits func(ctx context.Context, account string, bytes int64) error
	Bus  stream.Publisher
	Log  *slog.Logger
}

// MaxWeight bounds a weight that is fetched, in bytes: the largest published models have about fifty gigabytes in a file.
const MaxWeight = 64 << 30

// fetchAttempts bounds the requests to a source that may recover.
const fetchAttempts = 4

// FetchDownload makes an asset of the content of the download's URL. An interrupted attempt leaves nothing, or the
// asset, which the next attempt finds. An error that no attempt can fix ends the download with the reason.
func (x *Downloads) FetchDownload(ctx context.Context, ref task.Ref) error {
	last := activity.GetInfo(ctx).Attempt >= fetchAttempts
	return carryOut(ctx, ref, x.Records, x.Log, func(ctx context.Context, state download.Download) error {
		err := x.complete(ctx, ref, state)
		problem := publicly(err, notFetched)
		if fault.SourceMayRecover(err) && !last {
			err = fault.Wrap(err, fault.Unavailable, fault.CodeOf(err), "the source may recover")
		}
		if err != nil && !refused(err) {
			x.record(ctx, task.Progress{Kind: task.Download, Task: ref.Task, Name: state.Requested.Request.Name, Problem: problem})
		}
		return err
	}, func(state download.Download, err error) download.FailedV1 {
		name := state.Requested.Request.Name
		return download.FailedV1{Name: name, Code: string(fault.CodeOf(err)), Message: publicly(err, notFetched)}
	})
}

// notFetched is the message of a download that failed without a public reason.
const notFetched = "The file could not be fetched."

// record records the progress of a download. A lost record is harmless: the next one follows.
func (x *Downloads) record(ctx context.Context, p task.Progress) {
	if err := x.Records.RecordProgress(ctx, p); err != nil {
		x.Log.Debug("progress not recorded", "task", p.Task, "error", err)
	}
}

// GiveUpDownload ends a download that could not be fetched within its time limit, with the problem of its last attempt.
func (x *Downloads) GiveUpDownload(ctx context.Context, ref task.Ref) error {
	state, err := x.Records.Get(ctx, ref.Account, ref.Task)
	if err != nil {
		return attempt.Error(err)
	}
	failed := download.FailedV1{Name: state.Requested.Request.Name, Code: string(fault.CodeInternalError), Message: notFetched}
	if p := state.Progress.Problem; p != "" && p != notFetched {
		failed.Message = strings.TrimSuffix(notFetched, ".") + " in time: " + p
	}
	return attempt.Error(x.Records.Fail(ctx, ref, failed))
}

// complete completes the download with the asset that an earlier attempt made, or with a new one.
func (x *Downloads) complete(ctx context.Context, ref task.Ref, state download.Download) error {
	a, err := x.Find(ctx, ref.Account, state.Requested.Request.Asset)
	found := false
	if fault.Is(err, fault.NotFound) {
		a, found, err = x.fetch(ctx, ref, state)
	}
	if err != nil {
		return err
	}
	name := state.Requested.Request.Name
	return x.Records.Complete(ctx, ref, download.CompletedV1{Name: name, Asset: a.PublicID(), Size: a.Size, Found: found})
}

// fetch streams the content into an asset. found reports that an equal asset existed.
func (x *Downloads) fetch(ctx context.Context, ref task.Ref, state download.Download) (made asset.Asset, found bool, err error) {
	fetch, weight := x.Fetch, state.Requested.Request.Weight
	if weight != nil {
		fetch = x.FetchWeight
	}
	source, contentType, size, err := fetch(ctx, state.Requested.Request.Source)
	if err != nil {
		return asset.Asset{}, false, err
	}
	defer source.Close()
	if err := x.Fits(ctx, ref.Account, max(size, 0)); err != nil {
		return asset.Asset{}, false, err
	}
	in, err := x.Assets.Receive(ctx, ref.Account, nil)
	if err != nil {
		return asset.Asset{}, false, err
	}
	defer in.Drop() //nolint:errcheck // the staging folder is cleared at the next start
	progress := &reporter{account: ref.Account, bus: x.Bus, record: x.record, log: x.Log}
	read := &counted{Reader: source, report: func(p task.Progress) { progress.report(ctx, p) }, progress: task.Progress{
		Kind: task.Download, Task: ref.Task, Name: state.Requested.Request.Name, Bytes: max(size, 0),
	}}
	if err := receive(in, read, weight); err != nil {
		return asset.Asset{}, false, err
	}
	spec := state.Requested.Request.Spec(ref.Account, declared(contentType), state.RequestID)
	if weight != nil {
		stored, err := x.Assets.Create(ctx, in, weight.Hash, spec)
		return stored.Asset, stored.Existing, err
	}
	return x.createAsset(ctx, in, spec)
}

// receive reads the content, and refuses a weight that has not the SHA-256 of its request.
func receive(to io.Writer, content io.Reader, weight *download.Weight) error {
	if weight == nil || weight.SHA256 == "" {
		_, err := io.Copy(to, content)
		return err
	}
	digest := sha256.New()
	if _, err := io.Copy(to, io.TeeReader(content, digest)); err != nil {
		return err
	}
	if sum := hex.EncodeToString(digest.Sum(nil)); sum != weight.SHA256 {
		return fault.New(fault.Conflict, fault.CodeHashMismatch, "the file has the SHA-256 %s, and not %s", sum, weight.SHA256)
	}
	return nil
}

// createAsset makes an asset of received bytes, or returns an equal asset that exists.
func (x *Downloads) createAsset(ctx context.Context, in *asset.Incoming, spec asset.Spec) (asset.Asset, bool, error) {
	hash, _ := in.Sum()
	made, same, err := x.Assets.Reference(ctx, hash, spec)
	if fault.CodeOf(err) == fault.CodeBlobNotFound {
		made, err = x.Assets.Create(ctx, in, nil, spec)
	}
	return made.Asset, same, err
}

// declared returns the media type that a source declares, or "" if there is none or it is unspecific.
func declared(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || kind == "application/octet-stream" {
		return ""
	}
	return kind
}

// counted reports how many bytes of a source were read.
type counted struct {
	io.Reader
	report   func(task.Progress)
	progress task.Progress
}

// Read implements io.Reader.
func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.progress.Done += int64(n)
		r.report(r.progress)
	}
	return n, err
}
