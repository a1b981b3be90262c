package console

import (
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
)

// AssetsPage lists assets of an account.
type AssetsPage struct {
	Frame
	Text, Tag string // search text and tag
	Tags      []Chip // the most frequent tags
	Assets    []ListedAsset
	Total     int64
	AtLeast   bool // Total is a lower bound
	Kept      account.Storage
	Next      template.URL // query of the next page, "" = this is the last
}

// Template implements Page.
func (*AssetsPage) Template() string { return "assets" }

// ListedAsset is one asset of a list.
type ListedAsset struct {
	ID, Name, Type string
	Size           int64
	Labels         []string
	At             time.Time
	Picture        bool // it has a thumbnail
	Rejected       bool // rejected by a scan
}

// AssetPage shows one asset.
type AssetPage struct {
	Frame
	Of        asset.Asset
	Line      ListedAsset
	Kind      string // image, video or audio; "" = not displayed
	Job       string // id of the job that made it, or ""
	Input     string // name by which nodes load it, or ""
	CanDelete bool
}

// Template implements Page.
func (*AssetPage) Template() string { return "asset" }

// WebhooksPage lists the endpoints of an account.
type WebhooksPage struct {
	Frame
	Endpoints []ShownEndpoint
	Kinds     []string // of messages
	CanChange bool
}

// Template implements Page.
func (*WebhooksPage) Template() string { return "webhooks" }

// ShownEndpoint is an endpoint with its address.
type ShownEndpoint struct {
	ID, Address string
	webhook.Endpoint
}

// WebhookPage shows an endpoint and deliveries to it.
type WebhookPage struct {
	Frame
	Of         ShownEndpoint
	Status     webhook.State // "" = all
	States     []webhook.State
	Deliveries []ShownDelivery
	Next       template.URL // query of the next page, "" = this is the last
	CanChange  bool
	Notice     string // result of an action
}

// Template implements Page.
func (*WebhookPage) Template() string { return "webhook" }

// SecretPage shows a secret, once.
type SecretPage struct {
	Frame
	What, Secret    string
	Back, BackWords string // path below Base of the next page
}

// Template implements Page.
func (*SecretPage) Template() string { return "secret" }

// KeysPage lists the keys of an account.
type KeysPage struct {
	Frame
	Keys      []OwnKey
	CanChange bool
}

// Template implements Page.
func (*KeysPage) Template() string { return "keys" }

// OwnKey is a key of the visitor's account.
type OwnKey struct {
	account.Key
	Used bool // this browser signed in with the key
}

// UsagePage shows the usage and the limits of an account.
type UsagePage struct {
	Frame
	Days           int // days that the page covers
	Balance        credit.Balance
	Kept           account.Storage
	Calls, Charged int64
	Lines          []UsedModel
	Omitted        int // rows that are not shown
}

// Template implements Page.
func (*UsagePage) Template() string { return "usage" }

// UsedModel is the usage of a model on a day.
type UsedModel struct {
	Day              time.Time
	Model            string
	Succeeded, Other int64
	Bytes, Charged   int64
}
