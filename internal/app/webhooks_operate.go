package app

import (
	"github.com/millrace-dev/millrace/api/admin"
	operatewebhooks "github.com/millrace-dev/millrace/internal/operate/webhooks"
)

var _ admin.Webhooks = (*operatewebhooks.Service)(nil)
