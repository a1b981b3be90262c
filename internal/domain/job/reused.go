package job

import "slices"

// OutputsReused reports whether any output of the job is that of an earlier job (v2 facts, outputs_reused).
func (j Job) OutputsReused() bool {
	return slices.ContainsFunc(j.Outputs, func(o NodeOutput) bool { return o.Reused || slices.Contains(j.Cached, o.Node) })
}
