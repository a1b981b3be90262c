package activities

// ExceptionType is how a failure of a node is told in the cloud contract's words.
var ExceptionType = exceptionType
