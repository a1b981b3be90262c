package comfyui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/internal/fault"
)

// defaultMaxUpload is the largest request body of a server that does not report its limit.
const defaultMaxUpload = 100 << 20

// listedAtOnce bounds the model folders that are read concurrently.
const listedAtOnce = 4

// Identify implements Inspector.
func (c *Client) Identify(ctx context.Context) (Identity, error) {
	a, err := c.do(ctx, c.timeout, maxSmall, request{method: http.MethodGet, path: "/system_stats"})
	if err != nil {
		return Identity{}, err
	}
	if a.status >= 500 {
		return Identity{}, statusError(a)
	}
	var stats systemStats
	if a.status != http.StatusOK || json.Unmarshal(a.body, &stats) != nil || stats.System.Python == "" || stats.Devices == nil {
		return Identity{}, fault.New(fault.Invalid, fault.CodeNotComfyUI, "the server at this address is not ComfyUI")
	}
	identity, err := stats.identity()
	if err != nil {
		return Identity{}, err
	}
	identity.MaxUpload, err = c.maxUpload(ctx)
	return identity, err
}

// systemStats is the answer of /system_stats.
type systemStats struct {
	System struct {
		OS       string `json:"os"`
		Version  string `json:"comfyui_version"`
		Python   string `json:"python_version"`
		PyTorch  string `json:"pytorch_version"`
		RAMTotal int64  `json:"ram_total"`
		RAMFree  int64  `json:"ram_free"`
	} `json:"system"`
	Devices []struct {
		Name       string `json:"name"`
		Type       string `json:"type"`
		Index      *int   `json:"index"`
		MemTotal   int64  `json:"vram_total"`
		MemFree    int64  `json:"vram_free"`
		TorchTotal int64  `json:"torch_vram_total"`
		TorchFree  int64  `json:"torch_vram_free"`
	} `json:"devices"`
}

func (s *systemStats) identity() (Identity, error) {
	version, err := ParseVersion(s.System.Version)
	if err != nil || version.Compare(MinVersion) < 0 {
		got := cmp.Or(clip(s.System.Version), "of unknown version")
		return Identity{}, fault.New(fault.Invalid, fault.CodeServerTooOld, "ComfyUI %s is not supported; the oldest supported version is %s",
			got, MinVersion).
			WithDetails(map[string]any{"version": clip(s.System.Version), "oldest": MinVersion.String()})
	}
	id := Identity{
		Version: version, OS: s.System.OS, Python: pythonVersion(s.System.Python), PyTorch: s.System.PyTorch,
		RAMTotal: s.System.RAMTotal, RAMFree: s.System.RAMFree,
	}
	for _, d := range s.Devices {
		device := Device{Name: d.Name, Type: d.Type, MemTotal: d.MemTotal, MemFree: d.MemFree, TorchTotal: d.TorchTotal, TorchFree: d.TorchFree}
		if d.Index != nil {
			device.Index = *d.Index
		}
		id.Devices = append(id.Devices, device)
	}
	return id, nil
}

// pythonVersion returns the number of a version such as "3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0]".
func pythonVersion(text string) string {
	number, _, _ := strings.Cut(text, " ")
	return clip(number)
}

// maxUpload reads the largest request body that the server accepts.
func (c *Client) maxUpload(ctx context.Context) (int64, error) {
	a, err := c.do(ctx, c.timeout, maxSmall, request{method: http.MethodGet, path: "/features"})
	if err != nil {
		return 0, err
	}
	var features struct {
		MaxUpload int64 `json:"max_upload_size"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &features) != nil || features.MaxUpload <= 0 {
		return defaultMaxUpload, nil //nolint:nilerr // servers without the route, or with another answer, use the default
	}
	return features.MaxUpload, nil
}

// Classes implements Inspector.
func (c *Client) Classes(ctx context.Context, known string) (Classes, error) {
	a, err := c.do(ctx, c.responseTimeout(maxDefinitions), maxDefinitions, request{method: http.MethodGet, path: "/object_info"})
	if err != nil {
		return Classes{}, err
	}
	if a.status != http.StatusOK {
		return Classes{}, statusError(a)
	}
	if known == digest(a.body) {
		return Classes{Digest: known}, nil
	}
	return ParseClasses(a.body)
}

// ParseClasses reads the answer of a server to /object_info.
func ParseClasses(body []byte) (classes Classes, err error) {
	classes.Digest = digest(body)
	classes.Names, classes.Definitions, err = members(body)
	if fault.CodeOf(err) == fault.CodeTooLarge {
		return Classes{}, err
	}
	if err != nil || len(classes.Names) == 0 || !allObjects(classes.Definitions) {
		return Classes{}, fault.Wrap(cmp.Or(err, errors.New("not an object of objects")), fault.Unavailable, fault.CodeServerGarbage,
			"the server's class definitions cannot be read")
	}
	return classes, nil
}

func allObjects(values map[string]json.RawMessage) bool {
	for _, value := range values {
		if !bytes.HasPrefix(value, []byte("{")) {
			return false
		}
	}
	return true
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// members reads an object in its order.
func members(raw []byte) ([]string, map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, nil, errors.Join(err, errors.New("not an object"))
	}
	var names []string
	byName := map[string]json.RawMessage{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("read a name: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, fmt.Errorf("read a member: %w", err)
		}
		name, _ := key.(string)
		if _, twice := byName[name]; !twice {
			names = append(names, name)
		}
		if len(names) > maxMembers {
			return nil, nil, fault.New(fault.Exhausted, fault.CodeTooLarge, "the server's answer has more than %d names", maxMembers)
		}
		byName[name] = value
	}
	return names, byName, nil
}

// Models implements Inspector.
func (c *Client) Models(ctx context.Context) (Models, error) {
	var m Models
	if err := c.get(ctx, maxListing, "/models", &m.Folders); err != nil {
		return Models{}, err
	}
	lists := make([][]string, len(m.Folders)+1)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(listedAtOnce)
	for i, folder := range m.Folders {
		group.Go(func() error { return c.get(groupCtx, maxListing, "/models/"+folder, &lists[i]) })
	}
	group.Go(func() error { return c.get(groupCtx, maxListing, "/embeddings", &lists[len(m.Folders)]) })
	if err := group.Wait(); err != nil {
		return Models{}, err
	}
	m.Files = map[string][]string{}
	for i, folder := range m.Folders {
		m.Files[folder] = lists[i]
	}
	m.Embeddings = lists[len(m.Folders)]
	raw, err := json.Marshal(m)
	if err != nil {
		return Models{}, fmt.Errorf("digest the models: %w", err)
	}
	m.Digest = digest(raw)
	return m, nil
}

// Extensions implements Inspector.
func (c *Client) Extensions(ctx context.Context) ([]string, error) {
	var paths []string
	if err := c.get(ctx, maxListing, "/extensions", &paths); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(p string) bool { return !isWebFile(p) }), nil
}

// isWebFile reports whether a path is a file below /extensions. It also checks the decoded path, because a proxy in
// front of the server may decode the path before it removes "..".
func isWebFile(name string) bool {
	decoded, err := url.PathUnescape(name)
	return err == nil && isWithin(name, "/extensions/") && isWithin(decoded, "/extensions/")
}

func isWithin(name, folder string) bool {
	return strings.HasPrefix(name, folder) && path.Clean(name) == name && !strings.ContainsAny(name, "\\?#\x00")
}

// WebFile implements Inspector.
func (c *Client) WebFile(ctx context.Context, name string) (*Download, error) {
	if !isWebFile(name) {
		return nil, fault.New(fault.Invalid, fault.CodeUnsafeName, "%q is not a web file of a custom node", clip(name))
	}
	return c.download(ctx, c.base.JoinPath(name), maxListing)
}

// Queue implements Inspector.
func (c *Client) Queue(ctx context.Context) (Queue, error) {
	var q struct {
		Running []queueItem `json:"queue_running"`
		Pending []queueItem `json:"queue_pending"`
	}
	if err := c.get(ctx, maxDocument, "/queue", &q); err != nil {
		return Queue{}, err
	}
	return Queue{Running: entries(q.Running), Pending: entries(q.Pending)}, nil
}

// queueItem is an entry as the server writes it: [number, id, prompt, extra_data, output_ids].
type queueItem QueueEntry

// UnmarshalJSON implements json.Unmarshaler.
func (q *queueItem) UnmarshalJSON(raw []byte) error {
	var extra struct {
		Client string `json:"client_id"`
	}
	fields := []any{&q.Number, &q.ID, &json.RawMessage{}, &extra}
	var values []json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return fmt.Errorf("read a queue entry: %w", err)
	}
	if len(values) < len(fields) {
		return fmt.Errorf("read a queue entry: %d fields: %w", len(values), io.ErrUnexpectedEOF)
	}
	for i, field := range fields {
		if err := json.Unmarshal(values[i], field); err != nil {
			return fmt.Errorf("read a queue entry: %w", err)
		}
	}
	q.Client = extra.Client
	return nil
}

// entries returns queue items in the order in which they will run. The server returns them as a heap.
func entries(items []queueItem) []QueueEntry {
	out := make([]QueueEntry, len(items))
	for i, item := range items {
		out[i] = QueueEntry(item)
	}
	slices.SortStableFunc(out, func(a, b QueueEntry) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Version is a version of ComfyUI.
type Version struct{ Major, Minor, Patch int }

// MinVersion is the oldest supported version: the first that interrupts a prompt by its id. In older versions an
// interrupt ends the running prompt, even if another client submitted it.
var MinVersion = Version{0, 3, 57}

// ParseVersion reads "0.33.0" or the form that git describe prints, such as "v0.2.1-3-gabc1234".
func ParseVersion(s string) (Version, error) {
	numbers, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	numbers, _, _ = strings.Cut(numbers, "+")
	parts := strings.Split(numbers, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("%q is not a version", s)
	}
	var v Version
	for i, field := range []*int{&v.Major, &v.Minor, &v.Patch}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 31)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version", s)
		}
		*field = int(n)
	}
	return v, nil
}

// Compare orders versions: negative when v is older than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// String returns the version as "0.33.0".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }
