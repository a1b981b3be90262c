package calls

// MaxListed bounds one listing of calls.
const MaxListed = 1000

// Filter selects model calls. Empty fields select all.
type Filter struct {
	States  []string
	Account string // name or id
	Model   string // PROVIDER/MODEL
	Before  int64  // from the previous answer; 0 = the newest
	Limit   int
}
