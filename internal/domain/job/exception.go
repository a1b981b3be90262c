package job

import "strings"

// runtimeName maps the cloud contract's exception types to the names of the self-hosted runtime's own
// exceptions, which its clients look for (cloud facts, section 8; W-64).
func runtimeName(exceptionType string) string {
	switch exceptionType {
	case "ValidationError":
		return "ValueError"
	case "ModelDownloadError":
		return "FileNotFoundError"
	case "ImageDownloadError":
		return "requests.exceptions.RequestException"
	case "OOMError":
		return "torch.OutOfMemoryError"
	case "InsufficientFundsError", "InactiveSubscriptionError":
		return "PermissionError"
	case "ServiceError":
		return "RuntimeError"
	}
	return exceptionType
}

// InRuntimeNames returns the failure with its exception type, also where the traceback says it, in
// the names of the self-hosted runtime. What has no such name keeps its own; f stays as it is.
func (f *Failure) InRuntimeNames() *Failure {
	if f == nil {
		return nil
	}
	renamed, name := *f, runtimeName(f.ExceptionType)
	renamed.ExceptionType = name
	renamed.Traceback = make([]string, len(f.Traceback))
	for i, line := range f.Traceback {
		if rest, ok := strings.CutPrefix(line, f.ExceptionType+":"); ok {
			line = name + ":" + rest
		}
		renamed.Traceback[i] = line
	}
	return &renamed
}
