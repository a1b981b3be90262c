package events

// Filter selects events of the log. Empty fields select all.
type Filter struct {
	Stream  string // a beginning, or a pattern with * and ?
	Type    string // a beginning
	Account string // name or id; * = events of all accounts together
	Since   string // a duration before now, or a time
	Until   string
	From    int64 // the position to read on from, the oldest first; 0 = the newest
	Before  int64 // only positions below; 0 = all
	Limit   int   // default 50
}
