package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kind is how a provider starts, stops and lists machines.
type Kind string

// The kinds.
const (
	Command    Kind = "command"    // commands of the operator
	Webhook    Kind = "webhook"    // HTTPS requests to addresses of the operator
	Kubernetes Kind = "kubernetes" // the machines are the pods of a Deployment
	Process    Kind = "process"    // the machines are ComfyUI processes that workers start beside them
)

// Provider says who starts, stops and lists the machines of a pool. Events do not contain it, because it may contain secrets.
type Provider struct {
	Kind Kind `json:"kind,omitempty" yaml:"kind"` // "" = Command

	Start  string `json:"start,omitempty" yaml:"start"` // commands, or the addresses of a webhook
	Stop   string `json:"stop,omitempty" yaml:"stop"`
	List   string `json:"list,omitempty" yaml:"list"`
	Secret string `json:"secret,omitempty" yaml:"secret"` // name of the variable with the key that signs the requests of a webhook

	Deployment string `json:"deployment,omitempty" yaml:"deployment"`
	Namespace  string `json:"namespace,omitempty" yaml:"namespace"`
	Port       int    `json:"port,omitempty" yaml:"port"`     // of ComfyUI in the pods
	Server     string `json:"server,omitempty" yaml:"server"` // address of the API of Kubernetes; "" = of the cluster that workers run in
	TokenFile  string `json:"token_file,omitempty" yaml:"token_file"`
	CAFile     string `json:"ca_file,omitempty" yaml:"ca_file"`
}

// keys are the keys of each kind: those that are needed, and the others.
var keys = map[Kind][2][]string{
	Command:    {{"start", "stop", "list"}, nil},
	Webhook:    {{"start", "stop", "list"}, {"secret"}},
	Kubernetes: {{"deployment"}, {"namespace", "port", "server", "token_file", "ca_file"}},
	Process:    {},
}

// The words of commands that are replaced.
const (
	MachineMark = "{machine}"
	TokenMark   = "{token}"
)

// Bounds and defaults of a Provider.
const (
	maxCommand  = 4000
	comfyuiPort = 8188
)

var (
	variables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	objects   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)
)

// Digest identifies the provider in events.
func (p Provider) Digest() string {
	text, _ := json.Marshal(p) // texts and a number never fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Of returns the kind.
func (p Provider) Of() Kind { return cmp.Or(p.Kind, Command) }

// Named reports whether the start gives its machine the name that Millrace has chosen. If not, it answers with the id of the machine.
func (p Provider) Named() bool {
	return p.Of() == Process || p.Of() == Command && strings.Contains(p.Start, MachineMark)
}

// check completes a provider, or refuses it. An error names the key.
func (p *Provider) check() error {
	takes, known := keys[p.Of()]
	if !known {
		return invalid("kind: %q is none of command, webhook, kubernetes and process", p.Kind)
	}
	if p.Kind == Command {
		p.Kind = ""
	}
	port := ""
	if p.Port != 0 {
		port = strconv.Itoa(p.Port)
	}
	for _, v := range []struct{ key, text string }{
		{"start", p.Start},
		{"stop", p.Stop},
		{"list", p.List},
		{"secret", p.Secret},
		{"deployment", p.Deployment},
		{"port", port},
		{"namespace", p.Namespace},
		{"server", p.Server},
		{"token_file", p.TokenFile},
		{"ca_file", p.CAFile},
	} {
		needed := slices.Contains(takes[0], v.key)
		switch {
		case needed && strings.TrimSpace(v.text) == "" || len(v.text) > maxCommand:
			return invalid("%s: a text of at most %d bytes is needed; a pool of the kind %s has the keys %s", v.key, maxCommand, p.Of(),
				strings.Join(takes[0], ", "))
		case v.text != "" && !needed && !slices.Contains(takes[1], v.key):
			return invalid("%s: a pool of the kind %s has no such key", v.key, p.Of())
		}
	}
	switch p.Of() {
	case Webhook:
		return p.checkWebhook()
	case Kubernetes:
		return p.checkKubernetes()
	case Process:
		return nil
	case Command:
	}
	if !strings.Contains(p.Stop, MachineMark) {
		return invalid("stop: the command must contain %s", MachineMark)
	}
	return nil
}

func (p *Provider) checkWebhook() error {
	for _, v := range []struct{ key, text string }{{"start", p.Start}, {"stop", p.Stop}, {"list", p.List}} {
		if !isAddress(v.text, "https", "http") { // package outbound refuses http, unless the operator allows the address
			return invalid("%s: an https address is needed, without a user and a password", v.key)
		}
	}
	if p.Secret != "" && !variables.MatchString(p.Secret) {
		return invalid("secret: the name of an environment variable of the workers is needed, not the secret")
	}
	return nil
}

func (p *Provider) checkKubernetes() error {
	p.Namespace, p.Port = cmp.Or(p.Namespace, "default"), cmp.Or(p.Port, comfyuiPort)
	switch {
	case !objects.MatchString(p.Deployment):
		return invalid("deployment: the name of a Deployment is needed")
	case !objects.MatchString(p.Namespace):
		return invalid("namespace: the name of a namespace is needed")
	case p.Port < 1 || p.Port > 65535:
		return invalid("port: a number from 1 to 65535 is needed")
	case p.Server != "" && !isAddress(p.Server, "https"):
		return invalid("server: an https address is needed, without a user and a password")
	case p.Server != "" && p.TokenFile == "":
		return invalid("token_file: a file with a token for the server is needed")
	}
	return nil
}

func isAddress(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && u.User == nil && u.Fragment == "" && slices.Contains(schemes, u.Scheme)
}
