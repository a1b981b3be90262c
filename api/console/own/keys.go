package own

import (
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// keys lists the account's keys, without their secrets: GET /console/keys.
func (r *Section) keys(c *gin.Context, v page.Visitor) (console.Page, error) {
	all, err := r.Accounts.Keys(c.Request.Context(), v.Account)
	if err != nil {
		return nil, err
	}
	shown := &console.KeysPage{Frame: console.Frame{Title: "Keys"}, CanChange: changes(v)}
	for _, k := range all {
		shown.Keys = append(shown.Keys, console.OwnKey{Key: k, Used: strings.HasPrefix(v.Key(), k.Prefix) && k.Prefix != ""})
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
	return &console.SecretPage{Frame: console.Frame{Title: "New key"}, What: "The key that begins with " + key.Prefix, Secret: secret, Back: "/keys", BackWords: "all keys"}, nil
}

// revokeKey revokes a key of the account: POST /console/keys/revoke.
func (r *Section) revokeKey(c *gin.Context, v page.Visitor) (string, error) {
	if err := owner(v); err != nil {
		return "", err
	}
	return "/keys", r.Accounts.RevokeKey(c.Request.Context(), v.Account, c.PostForm("key"), attribution(c, v))
}

// usageDays is the number of days that the page of usage shows.
const usageDays = 30

// usage shows the account's usage and limits: GET /console/usage.
func (r *Section) usage(c *gin.Context, v page.Visitor) (console.Page, error) {
	ctx := c.Request.Context()
	shown := &console.UsagePage{Frame: console.Frame{Title: "Usage"}, Days: usageDays}
	var err error
	if r.keyed() {
		if shown.Balance, err = r.Accounts.Balance(ctx, v.Account); err != nil {
			return nil, err
		}
	}
	if r.page.Edge.Storage != nil {
		if shown.Kept, err = r.page.Edge.Storage.Usage(ctx, v.Account); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	days, err := r.Usage.Between(ctx, v.Account, now.AddDate(0, 0, 1-usageDays), now)
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		line := console.UsedModel{Day: d.Day, Model: d.Model, Succeeded: d.Succeeded, Other: d.Failed + d.Canceled + d.Unknown, Bytes: d.Bytes, Charged: d.Charged}
		shown.Calls += line.Succeeded + line.Other
		shown.Charged += line.Charged
		if len(shown.Lines) < maxUsageLines {
			shown.Lines = append(shown.Lines, line)
		} else {
			shown.Omitted++
		}
	}
	return shown, nil
}

// maxUsageLines bounds the rows of the page of usage.
const maxUsageLines = 300
