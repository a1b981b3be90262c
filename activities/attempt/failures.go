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
//
// With encrypted, messages and stack traces are payloads of values, which encrypts them.
func Failures(values converter.DataConverter, encrypted bool) converter.FailureConverter {
	return failures{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: values}), values, encrypted}
}

type failures struct {
	converter.FailureConverter
	values    converter.DataConverter
	encrypted bool
}

// ErrorToFailure implements converter.FailureConverter.
func (f failures) ErrorToFailure(err error) *failurepb.Failure {
	failure := f.FailureConverter.ErrorToFailure(err)
	if err == nil {
		return failure
	}
	for part := failure; part != nil; part = part.GetCause() { // each says what those behind it say, too
		part.Message = fault.SentenceOf(part.GetMessage(), err)
		if f.encrypted && part.GetEncodedAttributes() == nil {
			if converter.EncodeCommonFailureAttributes(f.values, part) != nil {
				part.Message, part.StackTrace = "the message could not be encrypted", ""
			}
		}
	}
	return failure
}
