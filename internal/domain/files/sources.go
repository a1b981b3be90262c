package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
)

// WeightSources are the addresses from which weights are fetched when a workflow names them. Each is a prefix of the addresses of files,
// such as https://huggingface.co/Comfy-Org/.
type WeightSources []*url.URL

// ParseWeightSources reads addresses that are separated by spaces.
func ParseWeightSources(text string) (WeightSources, error) {
	var all WeightSources
	for field := range strings.FieldsSeq(text) {
		u, err := url.Parse(field)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%q is not an address such as https://huggingface.co/Comfy-Org/, without a query and credentials", field)
		}
		if !strings.HasSuffix(u.Path, "/") {
			u.Path += "/"
		}
		if path.Clean(u.Path)+"/" != u.Path && u.Path != "/" {
			return nil, errors.New("a path must not contain . and .. or several slashes in a row")
		}
		all = append(all, u)
	}
	return all, nil
}

// Models returns the model files that the drawing of a submission names at one of the addresses, under a name that a weight may have and
// that ends as the address does: nobody gives one file the name of another. A file with a malformed SHA-256 is left out, and one that is
// named twice is returned once.
func (s WeightSources) Models(extraData map[string]json.RawMessage) (models []uiworkflow.Model) {
	if len(s) == 0 {
		return nil
	}
	for _, m := range uiworkflow.ModelsOf(extraData) {
		same := func(o uiworkflow.Model) bool { return o.Folder == m.Folder && o.Name == m.Name }
		if sum, err := hex.DecodeString(m.SHA256()); err != nil || len(sum) != 0 && len(sum) != sha256.Size {
			continue
		}
		if _, err := WeightPlace(m.Folder, m.Name); err == nil && s.allow(m.URL, path.Base(m.Name)) && !slices.ContainsFunc(models, same) {
			models = append(models, m)
		}
	}
	return models
}

// allow reports whether a file with a name may be fetched from an address.
func (s WeightSources) allow(address, name string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Path != path.Clean(u.Path) || path.Base(u.Path) != name {
		return false
	}
	return slices.ContainsFunc(s, func(allowed *url.URL) bool {
		return u.Scheme == allowed.Scheme && strings.EqualFold(u.Host, allowed.Host) && strings.HasPrefix(u.Path, allowed.Path)
	})
}

// Hosts returns the hosts of the addresses, each with its port.
func (s WeightSources) Hosts() []string {
	var hosts []string
	for _, u := range s {
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		hosts = append(hosts, net.JoinHostPort(u.Hostname(), port))
	}
	return hosts
}
