package comfyui

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
)

// item is a prompt in the queue, in execution or in the history.
type item struct {
	number  float64
	id      string
	prompt  json.RawMessage
	extra   map[string]any
	secrets map[string]string // of extra, which queue and history do not show
	outputs []string
}

// MarshalJSON writes the item as queue and history show it.
func (it *item) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{it.number, it.id, it.prompt, it.extra, it.outputs})
}

func (it *item) client() string {
	client, _ := it.extra["client_id"].(string)
	return client
}

// message is a remembered message: its type and data.
type message [2]any

// entry is a prompt that ended.
type entry struct {
	Prompt  *item                     `json:"prompt"`
	Outputs map[string]map[string]any `json:"outputs"`
	Status  entryStatus               `json:"status"`
	Meta    map[string]map[string]any `json:"meta"`
}

type entryStatus struct {
	Status    string    `json:"status_str"`
	Completed bool      `json:"completed"`
	Messages  []message `json:"messages"`
}

// queue holds the waiting, running and ended prompts.
type queue struct {
	mu          sync.Mutex // guards the fields below
	counter     float64
	pending     []*item
	running     *item
	interrupted bool
	order       []string // of the history
	history     map[string]*entry
	wake        chan struct{} // has an element when there may be something to run
}

func newQueue() *queue {
	return &queue{history: map[string]*entry{}, wake: make(chan struct{}, 1)}
}

// next returns the number of another prompt.
func (q *queue) next(front bool) float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	number := q.counter
	q.counter++
	if front {
		return -number
	}
	return number
}

// put queues an item. It reports false where an equal one waits already: the item is queued, but
// the server fails over comparing the two.
func (q *queue) put(it *item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	twin := slices.ContainsFunc(q.pending, func(o *item) bool { return o.number == it.number && o.id == it.id })
	q.pending = append(q.pending, it)
	slices.SortStableFunc(q.pending, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id))
	})
	q.signal()
	return !twin
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take begins the next item, or returns nil if no item waits.
func (q *queue) take() *item {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		return nil
	}
	q.running = q.pending[0]
	q.pending = slices.Delete(q.pending, 0, 1)
	q.interrupted = false
	return q.running
}

// done ends the item that runs; e is nil when it is forgotten.
func (q *queue) done(e *entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.running
	q.running = nil
	if e == nil {
		return
	}
	if _, again := q.history[it.id]; !again {
		q.order = append(q.order, it.id)
	}
	q.history[it.id] = e
}

// remaining is how many prompts run and wait.
func (q *queue) remaining() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running != nil {
		return len(q.pending) + 1
	}
	return len(q.pending)
}

// now returns the running and the waiting prompts.
func (q *queue) now() (running, pending []*item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	running = []*item{}
	if q.running != nil {
		running = append(running, q.running)
	}
	return running, append([]*item{}, q.pending...)
}

// remove removes one entry of the prompt from the waiting ones.
func (q *queue) remove(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.pending, func(it *item) bool { return it.id == id })
	if i < 0 {
		return false
	}
	q.pending = slices.Delete(q.pending, i, i+1)
	return true
}

// interrupt ends the running prompt if it has this id; "" = any id.
func (q *queue) interrupt(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == nil || id != "" && q.running.id != id {
		return false
	}
	q.interrupted = true
	return true
}

func (q *queue) isInterrupted() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.interrupted
}

// past returns the entry of a prompt that ended.
func (q *queue) past(id string) (*entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.history[id]
	return e, ok
}

// all returns the history.
func (q *queue) all() map[string]*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make(map[string]*entry, len(q.history))
	for id, e := range q.history {
		out[id] = e
	}
	return out
}

// ended returns the prompts that ended, in order.
func (q *queue) ended() []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []*entry
	for _, id := range q.order {
		if e, kept := q.history[id]; kept {
			all = append(all, e)
		}
	}
	return all
}

// forget drops a prompt from the history.
func (q *queue) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.history, id)
}

// clear drops everything that waits, or the whole history.
func (q *queue) clear(history bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if history {
		clear(q.history)
		q.order = nil
		return
	}
	q.pending = nil
}
