package edge

import (
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/web/openid"
)

// People are those who sign in to the console and the editor with OpenID Connect. The APIs take keys only: the secret of a
// session exists outside the database in sealed cookies alone.
type People struct {
	session.Sessions
	Provider *openid.Provider
}
