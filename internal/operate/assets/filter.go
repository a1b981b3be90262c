package assets

// MaxListed bounds one listing of assets.
const MaxListed = 1000

// Filter selects assets. Empty fields select all.
type Filter struct {
	State   string
	Account string // name or id
	Limit   int
}
