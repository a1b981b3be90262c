package job

import (
	"encoding/json"
	"strings"
)

// Secrets are the credentials of a submission. They are stored encrypted until the job ends, and are never part of an
// event.
type Secrets struct {
	Credential string            `json:"credential,omitempty"` // for partner services
	ComfyOrg   map[string]string `json:"comfy_org,omitempty"`  // for ComfyUI servers that the operator chose, by their names in extra_data
}

// secretsLead begins the text of secrets other than a single credential. No credential contains a NUL.
const secretsLead = "\x00"

// Text returns the secrets as a text: a single credential unchanged, and "" for no secrets.
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

// ParseSecrets parses a text that Text returned.
func ParseSecrets(text string) (s Secrets, err error) {
	raw, more := strings.CutPrefix(text, secretsLead)
	if !more {
		return Secrets{Credential: text}, nil
	}
	return s, json.Unmarshal([]byte(raw), &s)
}
