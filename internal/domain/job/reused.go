package job

import "slices"

// OutputsReused reports whether any output of the job was taken from an earlier job.
func (j Job) OutputsReused() bool {
	return slices.ContainsFunc(j.Outputs, func(o NodeOutput) bool { return o.Reused || slices.Contains(j.Cached, o.Node) })
}
