package load

// Accounts returns how many accounts the gate remembers.
func (g *Gate) Accounts() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.used)
}
