package activities

import (
	"sync"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// maxTexts bounds the texts of a node in memory. The node's event contains the last of them.
const maxTexts = 256

// nodeLog gathers the texts that a running node shows, for the event of its end. It is safe for concurrent use.
type nodeLog struct {
	mu    sync.Mutex // guards texts
	texts []string
}

func (l *nodeLog) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts = append(l.texts, text); len(l.texts) > 2*maxTexts {
		l.texts = append([]string{}, l.texts[maxTexts:]...)
	}
}

// lines returns the texts for the event, or nil for a node without texts.
func (l *nodeLog) lines() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.texts) == 0 {
		return nil
	}
	return job.LogLines(l.texts)
}
