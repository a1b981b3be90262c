package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// ErrorLine returns the text of an error on one line. It replaces the text of a database error by a sentence. Errors
// of this program never contain a connection string.
func ErrorLine(err error) string { return terminal.Clean(fault.Sentence(err)) }

// ErrNoDataDir reports that the blobs of a deployment are on another machine.
var ErrNoDataDir = errors.New("the data directory is not on this machine")

// Record appends an event about an operator's action.
func Record(ctx context.Context, events *eventstore.Store, stream, account, eventType string, data any, by Attribution) error {
	_, err := events.Append(ctx, eventlog.AppendTo(stream, account, by.Meta(), eventlog.NewEvent(eventType, data)))
	return err
}

// Redacted returns v as JSON without secrets.
func Redacted(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return inspect.Redact(raw), nil
}
