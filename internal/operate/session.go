package operate

// Session is the terminal of a command whose work takes long. The zero value shows nothing and has no variables.
type Session struct {
	Progress func(what, unit string) func(done, total int64) // nil = progress is not shown
	Remark   func(text string)
	Lookup   func(name string) (string, bool) // variables of the environment
}

// Step returns a function that shows how much of some work is done.
func (s Session) Step(what, unit string) func(done, total int64) {
	if s.Progress != nil {
		if step := s.Progress(what, unit); step != nil {
			return step
		}
	}
	return func(int64, int64) {}
}
