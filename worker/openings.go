package worker

import (
	"github.com/millrace-dev/millrace/internal/account"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/queue"
)

// Openings returns the accounts, queue.All among them, whose waiting jobs may have got slots by what
// events say: an operator let a queue go on, or a tier has changed. Each is named once.
func Openings(events []eventlog.Recorded) []string {
	var opened []string
	seen := map[string]bool{}
	for _, rec := range events {
		switch rec.Type {
		case queue.TypeResumed, queue.TypeDrainStarted, account.TypeTierChanged:
			if !seen[rec.Account] {
				opened = append(opened, rec.Account)
			}
			seen[rec.Account] = true
		}
	}
	return opened
}
