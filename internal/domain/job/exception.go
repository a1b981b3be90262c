package job

import "strings"

// runtimeName returns the name of ComfyUI's own exception, which its clients expect: the one that a server raised, or the one
// that a type of the cloud API stands for.
func (f *Failure) runtimeName() string {
	if f.RuntimeType != "" {
		return f.RuntimeType
	}
	switch f.ExceptionType {
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
	return f.ExceptionType
}

// InRuntimeNames returns a copy of the failure with ComfyUI's name of its exception type, in the traceback too. A type
// without such a name is kept.
func (f *Failure) InRuntimeNames() *Failure {
	if f == nil {
		return nil
	}
	renamed, name := *f, f.runtimeName()
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
