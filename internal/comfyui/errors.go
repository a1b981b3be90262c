package comfyui

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Refusal is the error of Submit for a graph that the server refuses. The prompt was not queued.
type Refusal struct {
	Err   ValidationError
	Nodes map[string]NodeErrors // nil when the graph as a whole is wrong
}

// Error returns the server's message.
func (r *Refusal) Error() string {
	if r.Err.Details == "" {
		return "the server refuses the prompt: " + r.Err.Message
	}
	return fmt.Sprintf("the server refuses the prompt: %s: %s", r.Err.Message, r.Err.Details)
}

// Unwrap returns the classified error: Invalid, CodeRefused.
func (r *Refusal) Unwrap() error {
	return fault.New(fault.Invalid, fault.CodeServerRefused, "the server refuses the prompt: %s", r.Err.Message)
}

// ExecutionError is the error that ended the execution of a prompt.
type ExecutionError struct {
	Node      string                     // id of the node that failed
	Class     string                     // class of that node
	Type      string                     // Python's name of the exception: "RuntimeError", "torch.OutOfMemoryError"
	Message   string                     // like Traceback, it may contain paths of the server's machine; see WithoutPaths
	Traceback []string                   // one entry a frame
	Executed  []string                   // nodes that were done before
	Inputs    map[string]json.RawMessage // of the node, by name: a list of values or of texts about them
}

// Error returns the exception and its message.
func (e *ExecutionError) Error() string {
	return fmt.Sprintf("node %s (%s): %s: %s", e.Node, e.Class, e.Type, strings.TrimSpace(e.Message))
}

// OutOfMemory reports whether a device had too little memory.
func (e *ExecutionError) OutOfMemory() bool {
	if strings.HasSuffix(e.Type, "OutOfMemoryError") {
		return true
	}
	message := strings.ToLower(e.Message)
	return strings.Contains(message, "out of memory") || strings.Contains(message, "allocation on device")
}

// Beginnings of the messages, in lower case, of exceptions for which the machine of a server is the cause. What follows may repeat
// a text of the account, such as a file name.
var (
	diskErrors = []string{ // full, read-only, broken, over its quota
		"[errno 28]", "[errno 30]", "[errno 5]", "[errno 122]", "[winerror 112]", "no space left on device", "read-only file system",
	}
	deviceErrors = []string{"cuda error", "hip error", "cudnn error", "cublas error"}
)

// DiskFailed reports whether a disk of the server is full or broken: the same node may succeed on another server.
func (e *ExecutionError) DiskFailed() bool {
	return e.begins([]string{"OSError", "IOError"}, diskErrors)
}

// DeviceFailed reports whether a device of the server failed. The graph may have caused it, for example by an index out of range.
func (e *ExecutionError) DeviceFailed() bool {
	return !e.OutOfMemory() && e.begins([]string{"RuntimeError", "AcceleratorError", "CudaError"}, deviceErrors)
}

func (e *ExecutionError) begins(kinds, messages []string) bool {
	message := strings.ToLower(strings.TrimSpace(e.Message))
	return slices.Contains(kinds, e.Kind()) &&
		slices.ContainsFunc(messages, func(start string) bool { return strings.HasPrefix(message, start) })
}

// Kind returns the name of the exception without its module.
func (e *ExecutionError) Kind() string { return e.Type[strings.LastIndexByte(e.Type, '.')+1:] }

// installs are folders that mark the root of a ComfyUI installation within a path.
var installs = []string{
	"custom_nodes", "site-packages", "dist-packages", "comfy", "comfy_api", "comfy_api_nodes", "comfy_execution",
	"comfy_extras", "models",
}

// machinePath matches absolute paths of Unix and of Windows. A path in quotes may contain spaces.
var machinePath = regexp.MustCompile(`[A-Za-z]:\\(?:[^\\/\n"'<>|:*?]+\\)+[^\s"'<>|:*?\\,;()]*|` +
	`"(?:[A-Za-z]:[\\/]|/)[^"\n]+"|'(?:[A-Za-z]:[\\/]|/)[^'\n]+'|` +
	`(?:[A-Za-z]:[\\/]|\\\\|/)[^\s"'<>|:*?\\/,;]+[\\/][^\s"'<>|:*?,;()]*`)

// address matches URLs, also those of files.
var address = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// WithoutPaths returns a text of a server in a form for accounts: absolute paths of the server's machine are shortened to the
// part within the ComfyUI installation, or else to the name of the file.
func WithoutPaths(text string) string {
	var out strings.Builder
	end, urls := 0, address.FindAllStringIndex(text, -1)
	for _, at := range machinePath.FindAllStringIndex(text, -1) {
		if slices.ContainsFunc(urls, func(url []int) bool {
			return url[0] < at[0] && at[0] < url[1] && !strings.HasPrefix(text[url[0]:], "file:")
		}) {
			continue // part of a URL
		}
		out.WriteString(text[end:at[0]])
		out.WriteString(relative(text[at[0]:at[1]]))
		end = at[1]
	}
	return out.String() + text[end:]
}

// relative shortens a path, which may be in quotes.
func relative(path string) string {
	quote := ""
	if strings.ContainsAny(path[:1], `"'`) {
		quote, path = path[:1], path[1:len(path)-1]
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) == 0 {
		return quote + path + quote
	}
	for i, part := range parts[:len(parts)-1] {
		if slices.Contains(installs, part) {
			return quote + strings.Join(parts[i:], "/") + quote
		}
	}
	return quote + parts[len(parts)-1] + quote
}
