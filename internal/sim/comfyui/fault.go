package comfyui

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Fault is a way in which a server misbehaves.
type Fault uint8

// The faults. Those of answers concern every request; those of prompts the next ones that run.
const (
	// Garbage answers every request with something that is not ComfyUI's.
	Garbage Fault = iota
	// Redirect answers every request with a redirect to another host.
	Redirect
	// Broken answers every request with status 500.
	Broken
	// AcceptAndFail queues a prompt and answers 500.
	AcceptAndFail
	// AcceptAndDrop queues a prompt and closes the connection without an answer.
	AcceptAndDrop
	// Duplicate queues a prompt twice.
	Duplicate
	// HalfFile sends the first half of a file and closes the connection.
	HalfFile
	// LargeFile makes a picture as long as Options.LargeFile says.
	LargeFile
	// OversizeFile makes a picture 8 GiB long.
	OversizeFile
	// LostFile has no file to show.
	LostFile
	// UnsafeName names an output outside of its folder.
	UnsafeName
	// OutOfMemory fails a sampler for want of memory on the device.
	OutOfMemory
	// Raise fails a sampler with an error whose traceback names paths of the machine.
	Raise
	// Hang stops a sampler while the server continues to answer. An interrupt does not reach the sampler.
	Hang
	// LostInput loses all files of the input folder before it validates a prompt.
	LostInput
	// UnreadableInput fails a LoadImage over its file.
	UnreadableInput
	// Forget leaves a prompt out of the history when it ends.
	Forget
	// Mute sends no message of a prompt.
	Mute
	// Crash ends the server in a sampler, as os._exit does. Its machine starts it again.
	Crash
	// BadValue fails a sampler over one of its inputs.
	BadValue
	// MissingModel fails a loader because the file of its checkpoint is gone.
	MissingModel
	// DiskFull fails a SaveImage because the disk of the machine is full.
	DiskFull
	// ParentName, AbsoluteName, BackslashName and NULName name an output outside of its folder, like UnsafeName.
	ParentName
	AbsoluteName
	BackslashName
	NULName
	// ManyClasses defines three million empty classes, EndlessClasses a class whose definition does not end, and DeepClasses
	// one that is nested a million levels deep.
	ManyClasses
	EndlessClasses
	DeepClasses
	// NamelessClass adds a class whose name is empty to the definitions, and HostileClasses those whose names are in hostileNames.
	NamelessClass
	HostileClasses
)

// faultNames are the names of the faults in requests.
var faultNames = map[string]Fault{
	"garbage": Garbage, "redirect": Redirect, "broken": Broken, "accept_and_fail": AcceptAndFail, "accept_and_drop": AcceptAndDrop,
	"duplicate": Duplicate, "half_file": HalfFile, "large_file": LargeFile, "oversize_file": OversizeFile, "lost_file": LostFile,
	"unsafe_name": UnsafeName, "out_of_memory": OutOfMemory,
	"lost_input": LostInput, "unreadable_input": UnreadableInput, "raise": Raise, "hang": Hang, "forget": Forget, "mute": Mute,
	"nameless_class": NamelessClass, "hostile_classes": HostileClasses, "crash": Crash, "bad_value": BadValue,
	"missing_model": MissingModel, "disk_full": DiskFull,
	"parent_name": ParentName, "absolute_name": AbsoluteName, "backslash_name": BackslashName, "nul_name": NULName,
	"many_classes": ManyClasses, "endless_classes": EndlessClasses, "deep_classes": DeepClasses,
}

// hostileNames are names of classes as they are written in JSON: the longest, NUL, half of a surrogate pair, a path and markup.
var hostileNames = []string{
	strings.Repeat("n", 100_000), `NUL\u0000`, `\ud800`, "../../x", `<script>alert(1)</script>`,
}

// unsafeNames are the outputs that faults name: file and subfolder.
var unsafeNames = map[Fault][2]string{
	UnsafeName: {"passwd", "../../etc"}, ParentName: {"../../../../x.png", ""}, AbsoluteName: {"/etc/x.png", ""},
	BackslashName: {`..\..\x.png`, ""}, NULName: {"x\x00.png", ""},
}

// Always is the number of times of a fault that stays until it is cleared.
const Always = -1

// faults are the faults that are to happen, each a number of times.
type faults struct {
	mu   sync.Mutex // guards left and freed
	left map[Fault]int
	free chan struct{} // closed when a Hang ends
}

func newFaults() *faults { return &faults{left: map[Fault]int{}, free: make(chan struct{})} }

// Inject makes a fault happen that many times, or Always.
func (s *Server) Inject(f Fault, times int) { s.faults.inject(f, times) }

// Clear ends all faults. A prompt that hangs continues.
func (s *Server) Clear() { s.faults.clear() }

func (f *faults) inject(fault Fault, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left[fault] = times
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.left)
	close(f.free)
	f.free = make(chan struct{})
}

// happens reports whether a fault is to happen now, and counts it.
func (f *faults) happens(fault Fault) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left[fault] > 0 {
		f.left[fault]--
		return true
	}
	return f.left[fault] == Always
}

// freed returns the channel that is closed when hanging prompts continue.
func (f *faults) freed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.free
}

// control serves what a real server does not have: POST /sim/faults/{name}?times=N injects a fault,
// DELETE /sim/faults clears them all, GET /sim/runs lists what was executed.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	fault, known := faultNames[r.PathValue("name")]
	times, err := strconv.Atoi(cmp.Or(r.FormValue("times"), "1"))
	if !known || err != nil {
		http.Error(w, "no such fault, or times is not a number", http.StatusBadRequest)
		return
	}
	s.Inject(fault, times)
}

// replace misbehaves in place of a whole answer, and reports whether it did.
func (f *faults) replace(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case strings.HasPrefix(r.URL.Path, "/sim/"):
		return false
	case f.happens(Garbage):
		w.Header().Set("Content-Type", "text/html")
		writeBody(w, []byte("<html><body>It works!</body></html>"))
	case f.happens(Redirect):
		http.Redirect(w, r, "http://elsewhere.invalid/login", http.StatusFound)
	case f.happens(Broken):
		http.Error(w, "500 Internal Server Error", http.StatusInternalServerError)
	default:
		return false
	}
	return true
}
