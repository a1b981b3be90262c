package attempt

import (
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Failures returns the converter for errors of activities and workflows, which Temporal stores in histories. It is
// the SDK's converter, except that messages of a database, which may contain names of tables and values of rows, are
// replaced by the meaning of their SQLSTATE, as by fault.Sentence. The original messages are in the log of the
// process.
//
// If encrypted is set, messages and stack traces are payloads, which values encrypts.
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
	for part := failure; part != nil; part = part.GetCause() { // the message of an error contains those of its causes
		part.Message = fault.SentenceOf(part.GetMessage(), err)
		if f.encrypted && part.GetEncodedAttributes() == nil {
			if converter.EncodeCommonFailureAttributes(f.values, part) != nil {
				part.Message, part.StackTrace = "the message could not be encrypted", ""
			}
		}
	}
	return failure
}
