package postgres

// Wake spreads the news that events were appended. Its zero value and a nil *Wake do nothing.
type Wake struct{ signal chan struct{} }

// Signal says that events were committed. It never blocks.
func (w *Wake) Signal() {
	if w == nil || w.signal == nil {
		return
	}
	select {
	case w.signal <- struct{}{}:
	default:
	}
}
