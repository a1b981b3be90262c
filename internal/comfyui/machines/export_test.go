package machines

// ListAgain makes the next decision list the machines.
func (k *Keeper) ListAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lists = nil
}
