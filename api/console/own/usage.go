package own

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// UsagePage shows the usage and the limits of an account.
type UsagePage struct {
	console.Frame
	Days           int // days that the page covers
	Balance        credit.Balance
	Kept           account.Storage
	Calls, Charged int64
	Lines          []UsedModel
	Omitted        int // rows that are not shown
}

// UsedModel is the usage of a model on a day.
type UsedModel struct {
	Day              time.Time
	Model            string
	Succeeded, Other int64
	Bytes, Charged   int64
}

// usageDays is the number of days that the page of usage shows.
const usageDays = 30

// usage shows the account's usage and limits: GET /console/usage.
func (r *Section) usage(c *gin.Context, v page.Visitor) (console.Page, error) {
	ctx := c.Request.Context()
	shown := &UsagePage{Frame: console.Frame{Title: "Usage"}, Days: usageDays}
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
		line := UsedModel{
			Day: d.Day, Model: d.Model, Succeeded: d.Succeeded, Other: d.Failed + d.Canceled + d.Unknown, Bytes: d.Bytes,
			Charged: d.Charged,
		}
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
