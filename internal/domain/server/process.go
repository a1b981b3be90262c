package server

import (
	"fmt"
	"time"
)

// Phase is what a process of ComfyUI that Millrace looks after does.
type Phase string

// The phases.
const (
	PhaseStarting Phase = "starting" // started, and does not answer yet
	PhaseRunning  Phase = "running"  // has answered
	PhaseClosing  Phase = "closing"  // gets no segments, and is restarted when those that it runs have ended
	PhaseStopped  Phase = "stopped"  // ended, and is started again later
	PhaseEnded    Phase = "ended"    // ended, and is not started again: its machine of a pool was stopped
)

// Process is the process of a server that Millrace started itself and looks after.
type Process struct {
	Host     string    `json:"host"` // where it runs
	PID      int       `json:"pid,omitempty"`
	Device   string    `json:"device"` // cpu, or the number of a GPU
	Phase    Phase     `json:"phase"`
	Since    time.Time `json:"since"`              // of the phase
	Restarts int       `json:"restarts,omitempty"` // since the process that looks after it began
	Problem  string    `json:"problem,omitempty"`  // why it ended or is to end. It may repeat what the process wrote
	Log      string    `json:"log"`                // path of its output on the host
}

// closed reports whether the process gets no segments. A nil Process is not Millrace's and is not closed.
func (p *Process) closed() bool { return p != nil && p.Phase != PhaseRunning }

// Ended reports whether the process has ended for good.
func (p *Process) Ended() bool { return p != nil && p.Phase == PhaseEnded }

// trouble returns what there is to say about the process, or "".
func (p *Process) trouble() string {
	switch {
	case !p.closed():
		return ""
	case p.Phase == PhaseStarting && p.Problem == "":
		return fmt.Sprintf("its process starts since %s UTC", p.Since.UTC().Format(time.DateTime))
	case p.Phase == PhaseStarting:
		return fmt.Sprintf("its process starts again since %s UTC: %s", p.Since.UTC().Format(time.DateTime), p.Problem)
	case p.Phase == PhaseClosing:
		return "its process is restarted when its segments have ended: " + p.Problem
	case p.Phase == PhaseEnded:
		return "its process ended with its machine"
	}
	return "its process ended and is started again: " + p.Problem
}

// Ends of a process.
const (
	EndCrashed  = "crashed"  // it ended by itself
	EndHung     = "hung"     // it did not answer
	EndStuck    = "stuck"    // a canceled prompt did not end
	EndRecycled = "recycled" // it had grown beyond a limit
	EndStopped  = "stopped"  // Millrace stops
)

// ProcessStartedV1 records that a server's process was started.
type ProcessStartedV1 struct {
	Server   ID     `json:"server"`
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Device   string `json:"device"`
	Restarts int    `json:"restarts,omitempty"`
}

// ProcessEndedV1 records that a server's process ended. It has nothing that the process wrote, because node packs may print what jobs
// contain: that is in the log of the process. The last line of one that crashed is also in Process.Problem, and its last lines are in
// the log of Millrace.
type ProcessEndedV1 struct {
	Server  ID     `json:"server"`
	PID     int    `json:"pid"`
	Cause   string `json:"cause"`            // one of the End… causes
	Status  string `json:"status,omitempty"` // how it ended, such as exit status 1
	Seconds int64  `json:"seconds"`          // for which it ran
}
