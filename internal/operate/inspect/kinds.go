package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
)

// Calls reads the streams of model calls.
var Calls = Kind[call.Call]{
	Noun: "call", Fold: call.Fold, Phase: callPhase,
	Status: func(c call.Call) (string, bool) {
		return string(c.State), c.State.Final() && (c.State != call.Unknown || c.Charged != nil)
	},
}

// Assets reads the streams of assets.
var Assets = Kind[asset.Asset]{
	Noun: "asset", Fold: asset.Fold, Phase: assetPhase,
	Status: func(a asset.Asset) (string, bool) { return string(a.State), a.State.Gone() },
}

func callPhase(event any) Phase {
	switch e := event.(type) {
	case call.AcceptedV1:
		return Phase{Name: "waits for a slot", Wait: true}
	case call.AdmittedV1:
		return Phase{Name: "waits for a worker", Wait: true}
	case call.RequeuedV1:
		return Phase{Name: "waits for a worker", Wait: true, Attempt: e.Run, Detail: "its workflow no longer existed"}
	case call.DispatchingV1:
		return Phase{Name: "sent to the provider", Attempt: 1, Worker: e.Worker}
	case call.ReroutedV1:
		return Phase{Name: "sent to the provider", Attempt: 2, Detail: e.Server + ", the previous server was " + e.Cause}
	case call.RepeatedV1:
		return Phase{Name: "sent to the provider", Attempt: 2, Worker: e.Worker, Detail: "the outcome of the first request was unknown"}
	case call.ProviderAcceptedV1:
		return Phase{Name: "the provider works"}
	case call.AnsweredV1:
		return Phase{Name: "copies its assets and settles"}
	case call.OutcomeUnknownV1:
		return Phase{Name: "waits for an operator", Wait: true, Detail: "its outcome is unknown"}
	}
	return Phase{}
}

func assetPhase(event any) Phase {
	switch e := event.(type) {
	case asset.CreatedV1:
		if e.Producer != nil {
			return Phase{Name: "in service", Detail: "saved by a node, hashed while it was written"}
		}
		return Phase{Name: "waits for verification and is verified"}
	case asset.RequeuedV1:
		return Phase{Name: "is ingested again", Attempt: 2, Detail: "it had no running workflow"}
	case asset.VerifiedV1:
		switch {
		case !e.OK:
			return Phase{Name: "damaged"}
		case e.Scan != nil:
			return scannedPhase(*e.Scan)
		}
		return Phase{Name: "is scanned"}
	case asset.ScannedV1:
		return scannedPhase(e.Scan)
	}
	return Phase{}
}

func scannedPhase(s asset.Scan) Phase {
	if s.Verdict == asset.Rejects {
		return Phase{Name: "rejected"}
	}
	return Phase{Name: "in service"}
}

// ofCall summarizes an event of a call or an asset in one line.
func (f Event) ofCall() string {
	switch e := f.decoded.(type) {
	case call.AcceptedV1:
		return fmt.Sprintf("%s, %s, %s, $%s reserved", e.Model, e.API, e.Mode, amount.Dollars(e.Held))
	case call.AdmittedV1:
		return fmt.Sprintf("run %d", e.Run)
	case call.RequeuedV1:
		return fmt.Sprintf("run %d", e.Run)
	case call.DispatchingV1:
		return "worker " + e.Worker
	case call.RepeatedV1:
		return "worker " + e.Worker
	case call.ReroutedV1:
		return e.Server + ", the previous server was " + e.Cause
	case call.ProviderAcceptedV1:
		return "handle " + e.Handle
	case call.AnsweredV1:
		return fmt.Sprintf("%d bytes, $%s", e.Answer.Size, amount.Dollars(e.Price))
	case call.HostedV1:
		return fmt.Sprintf("%d copied, %d not", len(e.Assets), e.Failed)
	case call.SucceededV1:
		return fmt.Sprintf("%d bytes, charged $%s", e.Answer.Size, amount.Dollars(e.Charged))
	case call.FailedV1:
		return fmt.Sprintf("%s, charged $%s", callFailure(e.Failure), amount.Dollars(e.Charged))
	case call.CanceledV1:
		return "charged $" + amount.Dollars(e.Charged)
	case call.OutcomeUnknownV1:
		return callFailure(e.Failure)
	case call.ReconciledV1:
		if e.KeyFreed {
			return "charged $" + amount.Dollars(e.Charged) + ", key freed"
		}
		return "charged $" + amount.Dollars(e.Charged)
	}
	return f.ofAsset()
}

func callFailure(f call.Failure) string {
	return fmt.Sprintf("%s (%d): %s", f.Type, f.Status, f.Detail)
}

func (f Event) ofAsset() string {
	switch e := f.decoded.(type) {
	case asset.CreatedV1:
		return fmt.Sprintf("%s, %d bytes, %s", e.Origin, e.Size, e.ContentType)
	case asset.VerifiedV1:
		switch {
		case !e.OK:
			return "the stored bytes differ from the uploaded bytes"
		case e.Scan != nil:
			return fmt.Sprintf("%d bytes, as they were uploaded; %s", e.Size, verdict(*e.Scan))
		}
		return fmt.Sprintf("%d bytes, as they were uploaded", e.Size)
	case asset.ScannedV1:
		return verdict(e.Scan)
	case asset.RetentionExtendedV1:
		if e.ExpiresAt == nil {
			return "for good"
		}
		return "until " + e.ExpiresAt.UTC().Format(time.DateTime)
	}
	return f.ofChange()
}

func verdict(s asset.Scan) string { return strings.TrimSpace(string(s.Verdict) + " " + s.Reason) }

// ofChange summarizes a change that the owner of an asset made. Metadata may be long: only their size is shown.
func (f Event) ofChange() string {
	switch e := f.decoded.(type) {
	case asset.RenamedV1:
		return strconv.Quote(e.Name)
	case asset.RetypedV1:
		return e.ContentType
	case asset.TagsAddedV1:
		return strings.Join(e.Tags, ", ")
	case asset.TagsRemovedV1:
		return strings.Join(e.Tags, ", ")
	case asset.DescribedV1:
		return fmt.Sprintf("%d bytes of metadata", len(e.Metadata))
	case asset.PreviewChosenV1:
		return string(e.Preview)
	}
	return ""
}
