package sim

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// ticket is a generation. It is its own id: nothing else remembers it.
type ticket struct {
	Ready int64  `json:"r"` // when it is finished, Unix milliseconds
	Fault string `json:"f,omitempty"`
	Late  string `json:"l,omitempty"`
	Seed  string `json:"s"`           // of its result
	Extra string `json:"x,omitempty"` // what a provider's result repeats
}

const ticketMark = "sim-"

// submit makes the ticket of a submission; a wished delay is the generation's.
func (e *exchange) submit(extra string) ticket {
	delay := e.server.opts.Delay
	if e.scenario.set {
		delay, e.scenario.Delay = e.scenario.Delay, 0 // the generation takes it, not this answer
	}
	t := ticket{Ready: e.now.Add(delay).UnixMilli(), Late: e.scenario.Late, Seed: seedOf(e.raw), Extra: extra}
	if e.scenario.Fault == faultFail {
		t.Fault = faultFail
	}
	if t.Late == faultPolicy || t.Late == faultError || t.Late == faultFail || t.Late == faultLost {
		t.Fault, t.Late = t.Late, ""
	}
	return t
}

// id renders the ticket as an id that fits into addresses.
func (t ticket) id() string {
	raw, err := json.Marshal(t)
	if err != nil { // a ticket always encodes
		return ticketMark
	}
	return ticketMark + base64.RawURLEncoding.EncodeToString(raw)
}

func parseTicket(id string) (ticket, bool) {
	encoded, found := strings.CutPrefix(id, ticketMark)
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	var t ticket
	if !found || err != nil || json.Unmarshal(raw, &t) != nil {
		return ticket{}, false
	}
	return t, true
}

// ticketOf returns the generation of a status request.
func ticketOf(r *http.Request) (ticket, bool) {
	for _, id := range []string{r.PathValue("id"), r.URL.Query().Get("id"), r.URL.Query().Get("task_id"), r.URL.Query().Get("file_id")} {
		if t, ok := parseTicket(id); ok {
			return t, true
		}
	}
	return ticket{}, false
}

// maxStatusFaults is how many status answers of a generation misbehave: what passes by itself passes soon. One
// that hangs costs its caller far more time than any other.
const maxStatusFaults, maxHangs = 2, 1

// polling is the scenario of a status answer.
func (e *exchange) polling(t ticket) scenario {
	most := maxStatusFaults
	if t.Late == faultHang {
		most = maxHangs
	}
	if t.Late == "" || e.server.statusFaults.all()[t.id()] >= most {
		return scenario{}
	}
	e.server.statusFaults.add(t.id())
	return scenario{Fault: t.Late}
}

func (t ticket) finished(now time.Time) bool { return now.UnixMilli() >= t.Ready }

// ticket returns the generation of a status request; ok is false for an unknown one.
func (e *exchange) ticket() (ticket, bool) {
	if t, found := ticketOf(e.Request); found {
		return t, true
	}
	for _, member := range []string{"taskUUID", "subscription_key", "task_uuid"} {
		if t, found := parseTicket(e.text(member)); found {
			return t, true
		}
	}
	if name := e.text("operationName"); name != "" {
		return parseTicket(name[strings.LastIndex(name, "/")+1:])
	}
	return ticket{}, false
}
