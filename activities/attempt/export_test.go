package attempt

// IsOver reports whether the answer to a heartbeat ends the activity.
var IsOver = isOver
