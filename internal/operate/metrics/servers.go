package metrics

import (
	"strconv"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// maxServers bounds the servers with series of their own: those registered first; all others are summed as "other".
// maxDevices bounds the devices of each server.
const (
	maxServers = 50
	maxDevices = 16
)

// states are the states that have a series for each server.
var states = []server.State{server.Healthy, server.Busy, server.Away, server.Refused, server.Draining, server.Stuck, server.Resting}

// serverFamilies are the metrics of ComfyUI servers. A server is named by its address, which contains no credential.
var serverFamilies = []family{
	newFamily("millrace_server_state", "1 if a ComfyUI server is in a state, otherwise 0.", ofServers(func(u *serverSums, sample sampler) {
		for _, state := range states {
			sample(float64(u.states[state]), u.name, string(state))
		}
	}), "server", "state"),
	newFamily("millrace_server_queue_prompts", "Prompts that run or wait on a ComfyUI server: all, and those of other clients.",
		ofServers(func(u *serverSums, sample sampler) {
			sample(float64(u.running), u.name, "running")
			sample(float64(u.pending), u.name, "pending")
			sample(float64(u.foreign), u.name, "foreign")
		}), "server", "kind"),
	newFamily("millrace_server_memory_bytes", "Memory of a device of a ComfyUI server.", func(s *Snapshot, sample sampler) {
		for _, of := range s.Servers[:min(len(s.Servers), maxServers)] {
			for at, device := range of.Devices[:min(len(of.Devices), maxDevices)] {
				sample(float64(device.Free), of.URL, strconv.Itoa(at), "free")
				sample(float64(device.Total), of.URL, strconv.Itoa(at), "total")
			}
		}
	}, "server", "device", "kind"),
	newFamily("millrace_server_segments_running", "Parts of graphs that run on a ComfyUI server.",
		ofServers(func(u *serverSums, sample sampler) { sample(float64(u.segments), u.name) }), "server"),
	number("millrace_server_segments_waiting", "Parts of graphs that wait for a ComfyUI server.", func(s *Snapshot) int { return s.Waiting }),
}

// serverSums are the values of one server, or of all servers without series of their own.
type serverSums struct {
	name                                string
	states                              map[server.State]int
	running, pending, foreign, segments int
}

func sumOf(name string, servers ...*server.Server) *serverSums {
	sums := &serverSums{name: name, states: map[server.State]int{}}
	for _, s := range servers {
		sums.states[s.State()]++
		sums.running, sums.pending, sums.foreign = sums.running+s.Running, sums.pending+s.Pending, sums.foreign+s.Foreign
		sums.segments += len(s.Leases)
	}
	return sums
}

// ofServers returns the samples of each server, and of all servers without series of their own together.
func ofServers(samples func(*serverSums, sampler)) func(*Snapshot, sampler) {
	return func(s *Snapshot, sample sampler) {
		for _, one := range s.Servers[:min(len(s.Servers), maxServers)] {
			samples(sumOf(one.URL, one), sample)
		}
		if len(s.Servers) > maxServers {
			samples(sumOf("other", s.Servers[maxServers:]...), sample)
		}
	}
}

// maxShares bounds the pairs of account and server that have a counter of their own.
const maxShares = 1000

// serverUse is the use of one server by one account.
type serverUse struct{ account, server string }

// segment counts a segment that ended on a server.
func (m *Metrics) segment(rec eventlog.Recorded, e job.SegmentEndedV1) {
	seconds := float64(e.Millis) / 1000
	m.segments.WithLabelValues(m.label(e.Outcome)).Inc()
	m.serverSeconds.WithLabelValues(m.label(e.Outcome)).Add(seconds)
	key := serverUse{rec.Account, e.URL}
	if !m.shares[key] {
		if len(m.shares) >= maxShares {
			key = serverUse{"other", "other"}
		}
		m.shares[key] = true
	}
	m.shareSeconds.WithLabelValues(key.account, key.server).Add(seconds)
}
