package activities

import "time"

// ExceptionType is how a failure of a node is told in the cloud contract's words.
var ExceptionType = exceptionType

// WatchProcesses sets how long processes with a mark are watched before they count as dead, and how often.
func (g *Graph) WatchProcesses(lasts, every time.Duration) {
	g.watch = watch{lasts: lasts, every: every}
}
