package app

import (
	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/internal/operate/events"
)

var _ admin.Events = events.Service{}
