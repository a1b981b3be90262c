package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

var (
	descServerState = prometheus.NewDesc("millrace_server_state", "1 if a ComfyUI server is in a state, otherwise 0.",
		[]string{"server", "state"}, nil)
	descServerQueue = prometheus.NewDesc("millrace_server_queue_prompts",
		"Prompts that run or wait on a ComfyUI server: all, and those of other clients.", []string{"server", "kind"}, nil)
	descServerMemory = prometheus.NewDesc("millrace_server_memory_bytes", "Memory of a device of a ComfyUI server.",
		[]string{"server", "device", "kind"}, nil)
	descServerSegments = prometheus.NewDesc("millrace_server_segments_running", "Parts of graphs that run on a ComfyUI server.",
		[]string{"server"}, nil)
	descServerWaiting = prometheus.NewDesc("millrace_server_segments_waiting", "Parts of graphs that wait for a ComfyUI server.", nil, nil)
)

// maxServers bounds the servers with series of their own: those registered first; all others are summed as "other".
// maxDevices bounds the devices of each server.
const (
	maxServers = 50
	maxDevices = 16
)

// states are the states that have a series for each server.
var states = []server.State{server.Healthy, server.Busy, server.Away, server.Refused, server.Draining, server.Stuck, server.Resting}

// serverSums are the values of one server, or of all servers without series of their own.
type serverSums struct {
	states                              map[server.State]int
	running, pending, foreign, segments int
}

func (s *serverSums) add(of *server.Server) {
	s.states[of.State()]++
	s.running, s.pending, s.foreign, s.segments = s.running+of.Running, s.pending+of.Pending, s.foreign+of.Foreign, s.segments+len(of.Leases)
}

// collectServers sends the metrics of ComfyUI servers. A server is named by its address, which holds no credential.
func collectServers(gauge func(d *prometheus.Desc, v float64, labels ...string), all []*server.Server) {
	for i, s := range all[:min(len(all), maxServers)] {
		sums := serverSums{states: map[server.State]int{}}
		sums.add(all[i])
		sums.send(gauge, s.URL)
		for at, device := range s.Devices[:min(len(s.Devices), maxDevices)] {
			gauge(descServerMemory, float64(device.Free), s.URL, strconv.Itoa(at), "free")
			gauge(descServerMemory, float64(device.Total), s.URL, strconv.Itoa(at), "total")
		}
	}
	if len(all) <= maxServers {
		return
	}
	rest := serverSums{states: map[server.State]int{}}
	for _, s := range all[maxServers:] {
		rest.add(s)
	}
	rest.send(gauge, "other")
}

func (s *serverSums) send(gauge func(d *prometheus.Desc, v float64, labels ...string), name string) {
	for _, state := range states {
		gauge(descServerState, float64(s.states[state]), name, string(state))
	}
	gauge(descServerQueue, float64(s.running), name, "running")
	gauge(descServerQueue, float64(s.pending), name, "pending")
	gauge(descServerQueue, float64(s.foreign), name, "foreign")
	gauge(descServerSegments, float64(s.segments), name)
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
