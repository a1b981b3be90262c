package fault

// SourceMayRecover reports a failure of an address that a client named which may have passed by the next attempt.
func SourceMayRecover(err error) bool {
	switch CodeOf(err) {
	case CodeSourceTimeout, CodeSourceServerError, CodeSourceRateLimited, CodeSourceUnreachable:
		return true
	default:
		return false
	}
}
