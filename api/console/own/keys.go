package own

import (
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// KeysPage lists the keys of an account.
type KeysPage struct {
	console.Frame
	Keys      []OwnKey
	CanChange bool
}

// OwnKey is a key of the visitor's account.
type OwnKey struct {
	account.Key
	Used bool // this browser signed in with the key
}

// keys lists the account's keys, without their secrets: GET /console/keys.
func (r *Section) keys(c *gin.Context, v page.Visitor) (console.Page, error) {
	all, err := r.Accounts.Keys(c.Request.Context(), v.Account)
	if err != nil {
		return nil, err
	}
	shown := &KeysPage{Frame: console.Frame{Title: "Keys"}, CanChange: changes(v)}
	for _, k := range all {
		shown.Keys = append(shown.Keys, OwnKey{Key: k, Used: strings.HasPrefix(v.Key(), k.Prefix) && k.Prefix != ""})
	}
	return shown, nil
}

func attribution(c *gin.Context, v page.Visitor) operate.Attribution {
	return operate.Attribution{Actor: v.Actor(), Reason: "on the page of keys", RequestID: edge.RequestID(c)}
}

// issueKey makes a key and shows its secret, once: POST /console/keys.
func (r *Section) issueKey(c *gin.Context, v page.Visitor) (console.Page, error) {
	if err := owner(v); err != nil {
		return nil, err
	}
	var scopes []account.Scope
	for part := range strings.SplitSeq(c.PostForm("scope"), ",") {
		scope, err := account.ParseScope(part)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "%s", err.Error())
		}
		if !v.Allows(scope) {
			return nil, fault.New(fault.Denied, fault.CodeForbidden, "You cannot give a new key a right that your own key does not have.")
		}
		scopes = append(scopes, scope)
	}
	secret, key, err := r.Accounts.IssueKey(c.Request.Context(), v.Account, scopes, attribution(c, v))
	if err != nil {
		return nil, err
	}
	return &SecretPage{
		Frame: console.Frame{Title: "New key"}, What: "The key that begins with " + key.Prefix, Secret: secret, Back: "/keys",
		BackWords: "all keys",
	}, nil
}

// revokeKey revokes a key of the account: POST /console/keys/revoke.
func (r *Section) revokeKey(c *gin.Context, v page.Visitor) (string, error) {
	if err := owner(v); err != nil {
		return "", err
	}
	return "/keys", r.Accounts.RevokeKey(c.Request.Context(), v.Account, c.PostForm("key"), attribution(c, v))
}
