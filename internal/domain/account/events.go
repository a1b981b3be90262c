package account

import (
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// Event type names. They are stored; renaming one breaks history.
const (
	TypeTierChanged  = "account.tier_changed.v1"
	TypeSubscribed   = "account.subscribed.v1"
	TypeUnsubscribed = "account.unsubscribed.v1"

	TypeRouterAccessChanged = "account.router_access_changed.v1"

	TypeStorageLimited = "account.storage_limited.v1"

	TypeServerLabelsChanged = "account.server_labels_changed.v1"

	TypeSuspended = "account.suspended.v1"
	TypeResumed   = "account.resumed.v1"
)

// TierChangedV1 records that an account got another tier. Who and why are in the event's meta.
type TierChangedV1 struct {
	Tier Tier `json:"tier"`
	Was  Tier `json:"was"`
}

// SubscribedV1 records that the subscription is active again.
type SubscribedV1 struct{}

// UnsubscribedV1 records that the subscription has lapsed: the account reads but submits nothing.
type UnsubscribedV1 struct{}

// RouterAccessChangedV1 records what the account may use of the model router from now on.
type RouterAccessChangedV1 struct {
	Enabled bool     `json:"enabled"`
	Models  []string `json:"models"` // null = every model
	Denied  []string `json:"denied,omitempty"`
}

// StorageLimitedV1 records how many bytes the account may keep from now on: 0 = no limit, null = the deployment's.
type StorageLimitedV1 struct {
	Bytes *int64 `json:"bytes"`
	Was   *int64 `json:"was"`
}

// ServerLabelsChangedV1 records which labels of ComfyUI servers jobs of the account may ask for from now on.
type ServerLabelsChangedV1 struct {
	Labels []string `json:"labels"` // null = every label
	Was    []string `json:"was"`
}

// SuspendedV1 records that no credential of the account is accepted from now on.
type SuspendedV1 struct{}

// ResumedV1 records that the account's credentials are accepted again.
type ResumedV1 struct{}

// Register adds the account's event types to r.
func Register(r *eventlog.Registry) error {
	return r.Register(
		eventlog.TypeOf[TierChangedV1](TypeTierChanged).Says("the account has another tier"),
		eventlog.TypeOf[SubscribedV1](TypeSubscribed).Says("the subscription is active again"),
		eventlog.TypeOf[UnsubscribedV1](TypeUnsubscribed).Says("the subscription has lapsed: the account reads and submits nothing"),
		eventlog.TypeOf[RouterAccessChangedV1](TypeRouterAccessChanged).Says("what the account may use of the model router from now on"),
		eventlog.TypeOf[StorageLimitedV1](TypeStorageLimited).Says("how many bytes the account may keep from now on"),
		eventlog.TypeOf[ServerLabelsChangedV1](TypeServerLabelsChanged).Says("which labels of ComfyUI servers the account's jobs may ask for from now on"),
		eventlog.TypeOf[SuspendedV1](TypeSuspended).Says("from now on no key and no token of the account is accepted"),
		eventlog.TypeOf[ResumedV1](TypeResumed).Says("keys and tokens of the account are accepted again"),
	)
}

// Stream returns the name of the stream of an account.
func Stream(id string) string { return "account-" + id }

// Change is a command on an account's subscription.
type Change struct {
	Account   string
	Tier      Tier          // "" = as it is
	Active    *bool         // nil = as it is
	Access    *Access       // nil = as it is
	Suspend   *bool         // nil = as it is; false resumes
	Storage   *StorageLimit // nil = as it is
	Labels    *Labels       // nil = as it is
	Actor     string
	Reason    string
	RequestID string // of the HTTP request that asks for it; "" = none does
}

// Check reports what is wrong with a change.
func (c Change) Check() error {
	if c.Tier != "" {
		if _, err := ParseTier(string(c.Tier)); err != nil {
			return fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
	}
	if c.Access != nil {
		if err := c.Access.check(); err != nil {
			return err
		}
	}
	if c.Storage != nil {
		if err := c.Storage.check(); err != nil {
			return err
		}
	}
	if c.Labels != nil {
		if err := c.Labels.check(); err != nil {
			return err
		}
	}
	if c.Account == "" || c.Actor == "" {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a change of an account names the account and who asks for it")
	}
	return nil
}
