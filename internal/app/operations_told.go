package app

import (
	"github.com/millrace-dev/millrace/api/admin"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/operate/jobs"
	"github.com/millrace-dev/millrace/internal/operate/records"
)

var (
	_ admin.Histories = jobs.Answers{}
	_ admin.Replays   = jobs.Answers{}
	_ admin.Histories = records.Answers[call.Call]{}
)
