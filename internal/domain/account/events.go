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

// UnsubscribedV1 records that the subscription has lapsed: the account can read but not submit.
type UnsubscribedV1 struct{}

// RouterAccessChangedV1 records the new access of the account to the model router.
type RouterAccessChangedV1 struct {
	Enabled bool     `json:"enabled"`
	Models  []string `json:"models"` // null = every model
	Denied  []string `json:"denied,omitempty"`
}

// StorageLimitedV1 records the new storage limit of the account in bytes: 0 = no limit, null = the deployment's.
type StorageLimitedV1 struct {
	Bytes *int64 `json:"bytes"`
	Was   *int64 `json:"was"`
}

// ServerLabelsChangedV1 records the labels of ComfyUI servers that jobs of the account may now require.
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
		eventlog.TypeOf[UnsubscribedV1](TypeUnsubscribed).Says("the subscription has lapsed: the account can read but not submit"),
		eventlog.TypeOf[RouterAccessChangedV1](TypeRouterAccessChanged).Says("the access of the account to the model router changed"),
		eventlog.TypeOf[StorageLimitedV1](TypeStorageLimited).Says("the storage limit of the account changed"),
		eventlog.TypeOf[ServerLabelsChangedV1](TypeServerLabelsChanged).Says("the labels of ComfyUI servers that jobs of the account may "+
			"require changed"),
		eventlog.TypeOf[SuspendedV1](TypeSuspended).Says("keys and tokens of the account are refused from now on"),
		eventlog.TypeOf[ResumedV1](TypeResumed).Says("keys and tokens of the account are accepted again"),
	)
}

// Stream returns the name of the stream of an account.
func Stream(id string) string { return "account-" + id }

// Change is a command on an account's subscription.
type Change struct {
	Account   string
	Tier      Tier          // "" = unchanged
	Active    *bool         // nil = unchanged
	Access    *Access       // nil = unchanged
	Suspend   *bool         // nil = unchanged; false resumes
	Storage   *StorageLimit // nil = unchanged
	Labels    *Labels       // nil = unchanged
	Actor     string
	Reason    string
	RequestID string // of the HTTP request, "" without one
}

// Check returns an error if the change is not valid.
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
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "a change of an account must name the account and its actor")
	}
	return nil
}
