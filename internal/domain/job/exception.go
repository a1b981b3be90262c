package job

import "strings"

// runtimeName maps the cloud API's exception types to the names of ComfyUI's own exceptions, which its clients
// expect.
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

// InRuntimeNames returns a copy of the failure with ComfyUI's name of its exception type, in the traceback too. A type
// without such a name is kept.
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
