package operators

import (
	"embed"
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/operate/pools"
	"github.com/millrace-dev/millrace/internal/operate/views"
	"github.com/millrace-dev/millrace/internal/operate/weights"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// Templates are the templates of the pages of this package.
//
//go:embed *.html
var Templates embed.FS

// QueuesPage shows the state of every queue.
type QueuesPage struct {
	console.Frame
	Queues []Queue
	Search Search
}

// Queue is a queue with the name of its account and its possible changes.
type Queue struct {
	gate.State
	Name string
	Acts []console.Act
}

// ViewsPage shows the progress of every view.
type ViewsPage struct {
	console.Frame
	Views []ShownView
}

// ShownView is a view with its halted streams and its possible changes.
type ShownView struct {
	views.View
	Streams []HaltedStream
	Acts    []console.Act
}

// HaltedStream is a stream that a view could not fold, with the error.
type HaltedStream struct {
	views.Halted
	Acts []console.Act
}

// CheckedPage shows how a view differs from a new fold of the log.
type CheckedPage struct {
	console.Frame
	View, Found string
}

// AccountsPage lists the accounts.
type AccountsPage struct {
	console.Frame
	Accounts []account.Account
	Search   Search
	Create   console.Act
}

// Search is what the rows of a page were looked for by.
type Search struct {
	Text string
	All  int          // rows in all
	Next template.URL // query of the next page, "" = this is the last
}

// AccountPage shows an account.
type AccountPage struct {
	console.Frame
	Of      account.Account
	Balance credit.Balance
	Kept    account.Storage
	Keys    []ShownKey
	Acts    []console.Act
}

// ShownKey is a key of an account, without its secret.
type ShownKey struct {
	account.Key
	Acts []console.Act
}

// NewKeyPage shows the secret of a new key, once.
type NewKeyPage struct {
	console.Frame
	Of     string // id of the account
	Key    account.Key
	Secret string
}

// SessionsPage lists the sessions of people in force.
type SessionsPage struct {
	console.Frame
	Provider string // "" = nobody can sign in with OpenID Connect
	Sessions []ShownSession
	More     bool // there are more than those shown
}

// ShownSession is a session with its possible changes.
type ShownSession struct {
	session.Session
	Acts []console.Act
}

// PoolsPage shows the pools with their machines.
type PoolsPage struct {
	console.Frame
	Pools []ShownPool
}

// ShownPool is a pool with its possible changes.
type ShownPool struct {
	pools.View
	Acts []console.Act
}

// WeightsPage lists the weights.
type WeightsPage struct {
	console.Frame
	Weights []ShownWeight
	Search  Search
}

// ShownWeight is a weight with its copies and its possible changes.
type ShownWeight struct {
	asset.Weight
	Owner  string // name of its account
	Copies []weights.Copied
	Acts   []console.Act
}

// DeliveriesPage lists deliveries of webhooks in one state.
type DeliveriesPage struct {
	console.Frame
	Status     webhook.State
	States     []webhook.State
	Deliveries []console.ShownDelivery
	Next       template.URL // query of the next page, "" = this is the last
}

// DoctorPage shows what the doctor has found.
type DoctorPage struct {
	console.Frame
	Checks            []doctor.Finding
	At                time.Time // of the examination
	Failing, Warnings int
}
