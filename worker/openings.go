package worker

import (
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// Openings returns the accounts, gate.All among them, whose waiting jobs may have got slots by what
// events say: an operator let a queue go on, or a tier has changed. Each is named once.
func Openings(events []eventlog.Recorded) []string {
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
