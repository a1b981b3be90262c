package sweep

import (
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// OpenedQueues returns the accounts whose waiting jobs may now get slots, because an event opened their queue or changed
// their tier. gate.All may be among them. The result has no duplicates.
func OpenedQueues(events []eventlog.Recorded) []string {
	var opened []string
	seen := map[string]bool{}
	for _, rec := range events {
		switch rec.Type {
		case gate.TypeResumed, gate.TypeDrainStarted, account.TypeTierChanged:
			if !seen[rec.Account] {
				opened = append(opened, rec.Account)
			}
			seen[rec.Account] = true
		}
	}
	return opened
}
