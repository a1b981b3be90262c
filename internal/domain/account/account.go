// Package account defines who may use the service: accounts with a tier, their API keys, and the three ways to check
// a credential. It promises that a secret is shown once, when it is made, and that only its hash is stored.
// Implementations of Store store accounts.
package account

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Everyone stands for all accounts: it owns the files that the operator gives to all of them.
const Everyone = "*"

// LocalID is the id of the only account of the modes none and token.
const LocalID = "local"

// Mode is the way callers authenticate.
type Mode string

// The modes of --auth.
const (
	ModeNone  Mode = "none"  // every caller is the local account; loopback only
	ModeToken Mode = "token" // one static token authenticates the local account
	ModeKeys  Mode = "keys"  // accounts with keys of their own
)

// OnlyAccount returns the id of the only account of the mode, or "" in a mode with accounts of their own.
func (m Mode) OnlyAccount() string {
	if m == ModeKeys {
		return ""
	}
	return LocalID
}

// Tier names a subscription tier.
type Tier string

// The tiers of the cloud contract, and the one of the local account.
const (
	TierLocal    Tier = "local"
	TierFree     Tier = "free"
	TierStandard Tier = "standard"
	TierCreator  Tier = "creator"
	TierPro      Tier = "pro"
)

// Slots returns how many jobs of the tier run at the same time by default: 1, 3 and 5. A free account has 0, because
// it cannot submit. The local account has localSlots.
func (t Tier) Slots(localSlots int) int {
	switch t {
	case TierLocal:
		return localSlots
	case TierStandard:
		return 1
	case TierCreator:
		return 3
	case TierPro:
		return 5
	case TierFree:
		return 0
	}
	return 0
}

// Slots overrides the default number of concurrent jobs by tier.
type Slots map[Tier]int

// maxSlots bounds the slots of one account. More jobs would only wait inside Temporal.
const maxSlots = 10_000

// ParseSlots parses a list such as "standard=1,creator=3,pro=5". Tiers that are not in the list keep their default.
// The tier free cannot submit and has no slots.
func ParseSlots(list string) (Slots, error) {
	slots := Slots{}
	for part := range strings.SplitSeq(list, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		t, err := ParseTier(name)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > maxSlots || t == TierFree {
			return nil, fmt.Errorf("the slots of tiers must be a list such as standard=1,creator=3,pro=5, each from 1 to %d; not %q", maxSlots, part)
		}
		slots[t] = n
	}
	return slots, nil
}

// Of returns how many jobs of the tier run at the same time. localSlots is the default of the local account.
func (s Slots) Of(t Tier, localSlots int) int {
	if n, ok := s[t]; ok {
		return n
	}
	return t.Slots(localSlots)
}

// ParseTier returns the tier of that name.
func ParseTier(s string) (Tier, error) {
	t := Tier(s)
	if !slices.Contains([]Tier{TierLocal, TierFree, TierStandard, TierCreator, TierPro}, t) {
		return "", fmt.Errorf("tier %q is not one of local, free, standard, creator, pro", s)
	}
	return t, nil
}

// Account is one customer.
type Account struct {
	ID        string
	Name      string
	Tier      Tier
	Active    bool // the subscription; an inactive account can read but not submit
	Suspended bool // no credential of the account is accepted
	Access    Access
	Labels    Labels // labels of ComfyUI servers that its jobs may require
	Storage   *int64 // storage limit in bytes; 0 = no limit, nil = the deployment's
	CreatedAt time.Time
}

// Scope is a right that a key carries.
type Scope string

// The scopes. A key without write can only read.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	// ScopeGraphs lets a key read and submit graphs below the path of a deployment, which otherwise takes inputs only.
	ScopeGraphs Scope = "graphs"
)

// scopeCall begins the scopes of a key that may call some deployments and do nothing else. A name follows. Such a key has no other scope,
// so that whatever needs one is refused.
const scopeCall = "deployment:"

// CallScope returns the scope of a key that may call the deployment with a name.
func CallScope(deployment string) Scope { return Scope(scopeCall + deployment) }

// ParseScope returns the scope of that name.
func ParseScope(s string) (Scope, error) {
	if sc := Scope(s); sc == ScopeRead || sc == ScopeWrite || sc == ScopeGraphs {
		return sc, nil
	}
	return "", fmt.Errorf("scope %q is not one of read, write, graphs", s)
}

// Identity is the caller that a valid credential identifies.
type Identity struct {
	Account string
	Tier    Tier
	Active  bool
	Scopes  []Scope
	Access  Access // access to the model router
	Key     string // the public prefix of the key, for logs; "" without a key
}

// Allows reports whether the identity carries the right.
func (id Identity) Allows(scope Scope) bool { return slices.Contains(id.Scopes, scope) }

// Limited reports whether the identity may call some deployments and do nothing else.
func (id Identity) Limited() bool {
	return slices.ContainsFunc(id.Scopes, func(s Scope) bool { return strings.HasPrefix(string(s), scopeCall) })
}

// Calls reports whether the identity may call the deployment with a name.
func (id Identity) Calls(deployment string) bool {
	return !id.Limited() || slices.Contains(id.Scopes, CallScope(deployment))
}

// Local is the identity of the modes none and token.
func Local() Identity {
	return Identity{Account: LocalID, Tier: TierLocal, Active: true, Scopes: []Scope{ScopeRead, ScopeWrite}}
}
