package compare_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // a format of files of node packs
	_ "image/jpeg" // a format of pictures that nodes send
	_ "image/png"  // the format of previews and saved pictures
	"io"
	"maps"
	"math"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// runtime is one of the two compared systems: Millrace, or a ComfyUI server. Both are used through ComfyUI's own
// routes.
type runtime struct {
	base string
	http http.Client
}

// outcome is the result of one graph for a client.
type outcome struct {
	Status     int                 // status of the submission
	Refused    string              // type of the error of a refused graph
	NodeErrors map[string][]string // by node: type, message and details of each
	Ended      string              // "success", "error"
	FailedNode string
	Exception  string
	Outputs    map[string]map[string][]string // by node and key: texts, or a word for each picture
	pictures   map[string]picture             // by node, key and index
}

type picture struct {
	width, height int
	pix           []uint8 // RGBA
}

func (r *runtime) json(ctx context.Context, method, path string, body, into any) (int, error) {
	var b bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&b).Encode(body); err != nil {
			return 0, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, &b)
	if err != nil {
		return 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := r.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(raw, into); err != nil && res.StatusCode < 500 {
		return 0, fmt.Errorf("%s %s: status %d: %q: %w", method, path, res.StatusCode, raw, err)
	}
	return res.StatusCode, nil
}

// upload stores an input file.
func (r *runtime) upload(ctx context.Context, name string, data []byte) error {
	return r.uploadTo(ctx, "", name, data)
}

// uploadTo stores an input file in a folder.
func (r *runtime) uploadTo(ctx context.Context, folder, name string, data []byte) error {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("image", name)
	if err != nil {
		return err
	}
	if _, err := part.Write(data); err != nil {
		return err
	}
	if err := errors.Join(form.WriteField("overwrite", "true"), form.WriteField("subfolder", folder)); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+"/upload/image", &b)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := r.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("upload of %s: status %d", name, res.StatusCode)
	}
	return nil
}

type nodeErrors struct {
	Errors []struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details string `json:"details"`
	} `json:"errors"`
}

// run submits a graph and waits for its end.
func (r *runtime) run(ctx context.Context, g graph) (*outcome, error) {
	return r.submit(ctx, map[string]any{"prompt": g})
}

// submit submits the body of a prompt and waits for its end.
func (r *runtime) submit(ctx context.Context, body map[string]any) (*outcome, error) {
	var submitted struct {
		ID         string                     `json:"prompt_id"`
		Error      json.RawMessage            `json:"error"`
		NodeErrors map[string]json.RawMessage `json:"node_errors"`
	}
	status, err := r.json(ctx, http.MethodPost, "/prompt", body, &submitted)
	if err != nil {
		return nil, err
	}
	o := &outcome{Status: status, NodeErrors: map[string][]string{}, Outputs: map[string]map[string][]string{}, pictures: map[string]picture{}}
	for id, raw := range submitted.NodeErrors {
		var e nodeErrors
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		for _, one := range e.Errors {
			o.NodeErrors[id] = append(o.NodeErrors[id], one.Type+"|"+one.Message+"|"+one.Details)
		}
	}
	if status != http.StatusOK {
		var refused struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(submitted.Error, &refused) // an error that is a text has no type
		o.Refused = refused.Type
		return o, nil
	}
	return o, r.await(ctx, submitted.ID, o)
}

type historyEntry struct {
	Outputs map[string]map[string]json.RawMessage `json:"outputs"`
	Status  struct {
		Text     string               `json:"status_str"`
		Messages [][2]json.RawMessage `json:"messages"`
	} `json:"status"`
}

func (r *runtime) await(ctx context.Context, id string, o *outcome) error {
	for {
		var history map[string]historyEntry
		if _, err := r.json(ctx, http.MethodGet, "/history/"+id, nil, &history); err != nil {
			return err
		}
		if entry, ended := history[id]; ended {
			return r.read(ctx, entry, o)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (r *runtime) read(ctx context.Context, entry historyEntry, o *outcome) error {
	o.Ended = entry.Status.Text
	for _, m := range entry.Status.Messages {
		var kind string
		var failure struct {
			Node      string `json:"node_id"`
			Exception string `json:"exception_type"`
			Message   string `json:"exception_message"`
		}
		if json.Unmarshal(m[0], &kind) == nil && kind == "execution_error" && json.Unmarshal(m[1], &failure) == nil {
			o.FailedNode, o.Exception = failure.Node, failure.Exception+": "+strings.TrimSpace(failure.Message)
		}
	}
	for id, shown := range entry.Outputs {
		o.Outputs[id] = map[string][]string{}
		for key, raw := range shown {
			words, err := r.words(ctx, id+" "+key, raw, o)
			if err != nil {
				return err
			}
			o.Outputs[id][key] = words
		}
	}
	return nil
}

// words describes the outputs of a node under a key; pictures are downloaded.
func (r *runtime) words(ctx context.Context, key string, raw json.RawMessage, o *outcome) ([]string, error) {
	if !bytes.HasPrefix(raw, []byte("[")) {
		return []string{string(raw)}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	words := []string{}
	for i, element := range list {
		var shown string
		if json.Unmarshal(element, &shown) == nil {
			words = append(words, shown)
			continue
		}
		var value any
		if err := json.Unmarshal(element, &value); err != nil {
			return nil, err
		}
		value, err := r.describe(ctx, fmt.Sprintf("%s %d", key, i), value, o)
		if err != nil {
			return nil, err
		}
		word, ok := value.(string)
		if !ok {
			word = text(value)
		}
		words = append(words, word)
	}
	return words, nil
}

// describe replaces the files in a value by words for their content.
func (r *runtime) describe(ctx context.Context, key string, value any, o *outcome) (any, error) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			var err error
			if v[i], err = r.describe(ctx, fmt.Sprintf("%s.%d", key, i), v[i], o); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if name, ok := v["filename"].(string); ok && name != "" {
			return r.file(ctx, key, name, v, o)
		}
		for _, name := range sortedKeys(v) {
			var err error
			if v[name], err = r.describe(ctx, key+"."+name, v[name], o); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// file downloads a file of an output and describes it, with the other members of its element.
func (r *runtime) file(ctx context.Context, key, name string, element map[string]any, o *outcome) (string, error) {
	subfolder, _ := element["subfolder"].(string)
	folder, _ := element["type"].(string)
	if strings.HasPrefix(name, "/") { // a server does not serve a path on its machine
		name = path.Base(name)
	}
	q := url.Values{"filename": {name}, "subfolder": {subfolder}, "type": {folder}}
	more := maps.Clone(element)
	for _, member := range []string{"filename", "subfolder", "type", "fullpath"} {
		delete(more, member)
	}
	if _, ok := more["workflow"].(string); ok {
		more["workflow"] = "a file"
	}
	rest := ""
	if len(more) > 0 {
		rest = " " + text(more)
	}
	if strings.Contains(name, "%") {
		return folder + " sequence of files" + rest, nil
	}
	if suffix := path.Ext(name); !slices.Contains([]string{".png", ".jpg", ".gif"}, suffix) {
		data, err := r.download(ctx, q)
		if len(data) > 8 && suffix == ".latent" { // the tensor, without the metadata
			data = data[8+binary.LittleEndian.Uint64(data):]
			return fmt.Sprintf("%s latent %x%s", folder, sha256.Sum256(data), rest), err
		}
		return fmt.Sprintf("%s file %s%s", folder, suffix, rest), err
	}
	p, err := r.view(ctx, q)
	o.pictures[key] = p
	return fmt.Sprintf("%s picture %dx%d%s", folder, p.width, p.height, rest), err
}

// download returns the content of a file, which is not empty.
func (r *runtime) download(ctx context.Context, q url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/view?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || len(data) == 0) {
		err = fmt.Errorf("read %s: status %d, %d bytes", q.Get("filename"), res.StatusCode, len(data))
	}
	return data, err
}

func (r *runtime) view(ctx context.Context, q url.Values) (picture, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/view?"+q.Encode(), nil)
	if err != nil {
		return picture{}, err
	}
	res, err := r.http.Do(req)
	if err != nil {
		return picture{}, err
	}
	defer res.Body.Close()
	p, err := decoded(res.Body)
	if err != nil {
		return picture{}, fmt.Errorf("read %s: status %d: %w", q.Get("filename"), res.StatusCode, err)
	}
	return p, nil
}

func decoded(from io.Reader) (picture, error) {
	im, _, err := image.Decode(from)
	if err != nil {
		return picture{}, err
	}
	b := im.Bounds()
	p := picture{width: b.Dx(), height: b.Dy()}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := nrgba(im.At(x, y))
			p.pix = append(p.pix, c[:]...)
		}
	}
	return p, nil
}

// differences returns the differences between two outcomes, and the nodes whose pictures differ by 1 of 255.
func differences(want, got *outcome) (diffs, rounded []string) {
	differ := func(what string, want, got any) {
		w, g := text(want), text(got)
		if w != g {
			diffs = append(diffs, fmt.Sprintf("%s: %s there, %s here", what, w, g))
		}
	}
	differ("status", want.Status, got.Status)
	differ("refused", want.Refused, got.Refused)
	differ("node errors", want.NodeErrors, got.NodeErrors)
	differ("ended", want.Ended, got.Ended)
	if want.Ended == "error" && got.Ended == "error" {
		if sentence(want.Exception) != sentence(got.Exception) {
			exceptions.note(want.Exception, got.Exception)
		}
		want.Outputs = common(want.Outputs, got.Outputs)
		got.Outputs = common(got.Outputs, want.Outputs)
	}
	rounded = alignTensors(want.Outputs, got.Outputs)
	differ("outputs", want.Outputs, got.Outputs)
	if len(diffs) > 0 {
		return diffs, nil
	}
	for _, key := range sortedKeys(want.pictures) {
		if got.pictures[key].pix == nil {
			continue
		}
		worst, share := distance(want.pictures[key], got.pictures[key])
		switch {
		case worst == 1:
			rounded = append(rounded, strings.Fields(key)[0])
		case worst > 1:
			diffs = append(diffs, fmt.Sprintf("picture %s: by up to %d of 255 in %.1f %% of the values", key, worst, share))
		}
	}
	return diffs, rounded
}

// sentence returns the first sentence of an error, with the type of its exception.
func sentence(exception string) string {
	line, _, _ := strings.Cut(exception, "\n")
	return strings.TrimRight(line, ". ")
}

// alignTensors makes texts of tensors equal whose elements differ by rounding only, and returns the nodes that show them.
func alignTensors(want, got map[string]map[string][]string) (rounded []string) {
	for id, shown := range want {
		for key, words := range shown {
			for i, w := range words {
				if other := got[id][key]; i < len(other) && w != other[i] && closeTensors(w, other[i]) {
					other[i] = w
					rounded = append(rounded, id)
				}
			}
		}
	}
	return rounded
}

var printed = regexp.MustCompile(`-?\d+\.?\d*(e[+-]\d+)?`)

// closeTensors reports whether two texts are tensors of one shape whose elements differ by at most 1 of 255.
func closeTensors(a, b string) bool {
	bare := func(s string) string { return strings.Join(strings.Fields(printed.ReplaceAllString(s, "")), "") }
	if !strings.HasPrefix(a, "tensor(") || bare(a) != bare(b) {
		return false
	}
	x, y := printed.FindAllString(a, -1), printed.FindAllString(b, -1)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		v, errV := strconv.ParseFloat(x[i], 64)
		w, errW := strconv.ParseFloat(y[i], 64)
		if errV != nil || errW != nil || math.Abs(v-w) > 1.0/255+0.0002 {
			return false
		}
	}
	return true
}

// common returns the outputs whose nodes the other outcome has, too. When a node fails, the outputs that were made
// before depend on the order in which the reference runs the outputs of a graph, which is the random order of a set.
func common(outputs, other map[string]map[string][]string) map[string]map[string][]string {
	both := map[string]map[string][]string{}
	for id := range outputs {
		if _, known := other[id]; known {
			both[id] = outputs[id]
		}
	}
	return both
}

func distance(a, b picture) (worst int, share float64) {
	different := 0
	for i := range a.pix {
		d := int(a.pix[i]) - int(b.pix[i])
		if d != 0 {
			different++
		}
		worst = max(worst, d, -d)
	}
	return worst, 100 * float64(different) / float64(max(len(a.pix), 1))
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(raw) > 600 {
		return string(raw[:600]) + "…"
	}
	return string(raw)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
