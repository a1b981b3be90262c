package attempt

import (
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Failures returns what converts the errors of activities and workflows for Temporal's histories, which keep them. It is
// that of the SDK, but a history holds no words of a database, which may repeat names of tables and values of rows: it
// says what their SQLSTATE means, as fault.Sentence does. The words are in the log of the process.
func Failures() converter.FailureConverter { return failures{temporal.GetDefaultFailureConverter()} }

type failures struct{ converter.FailureConverter }

// ErrorToFailure implements converter.FailureConverter.
func (f failures) ErrorToFailure(err error) *failurepb.Failure {
	failure := f.FailureConverter.ErrorToFailure(err)
	if err == nil {
		return failure
	}
	for part := failure; part != nil; part = part.GetCause() { // each says what those behind it say, too
		part.Message = fault.SentenceOf(part.GetMessage(), err)
	}
	return failure
}
