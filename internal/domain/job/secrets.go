package job

import (
	"encoding/json"
	"strings"
)

// Secrets are the credentials that a job came with. They are sealed until the job ends, and never part of an event.
type Secrets struct {
	Credential string            `json:"credential,omitempty"` // for partner services
	ComfyOrg   map[string]string `json:"comfy_org,omitempty"`  // for ComfyUI servers that the operator chose, by their names in extra_data
}

// secretsLead begins secrets of more than a credential. No credential has a NUL.
const secretsLead = "\x00"

// Text returns the secrets as they are sealed: a credential alone is itself, and none is "".
func (s Secrets) Text() string {
	if len(s.ComfyOrg) == 0 {
		return s.Credential
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return secretsLead + string(raw)
}

// ParseSecrets reads what Text returned.
func ParseSecrets(text string) (s Secrets, err error) {
	raw, more := strings.CutPrefix(text, secretsLead)
	if !more {
		return Secrets{Credential: text}, nil
	}
	return s, json.Unmarshal([]byte(raw), &s)
}
