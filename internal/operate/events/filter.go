package events

// Filter selects events of the log. Empty fields select all.
type Filter struct {
	Stream  string // a prefix, or a pattern with * and ?
	Type    string // a prefix
	Account string // name or id; * = events of all accounts together
	Since   string // a duration before now, or a time
	Until   string
	From    int64 // the position from which to read forward; 0 = read the newest events
	Before  int64 // read only positions below; 0 = all
	Limit   int   // default 50
}
