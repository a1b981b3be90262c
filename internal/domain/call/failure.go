package call

import (
	"encoding/json"
	"net/http"

	"github.com/millrace-dev/millrace/internal/fault"
)

// MarshalJSON implements json.Marshaler. It adds the HTTP status that the router's contract gives to the failure's
// type, for operators who read the event.
func (f Failure) MarshalJSON() ([]byte, error) {
	type plain Failure
	if f.Status == 0 {
		f.Status = f.recordedStatus()
	}
	return json.Marshal(plain(f))
}

func (f Failure) recordedStatus() int {
	if f.Validation != "" {
		return http.StatusUnprocessableEntity
	}
	switch f.Type {
	case InvalidInput, PolicyViolation:
		return http.StatusBadRequest
	case ProviderTimeout, QueueTimeout:
		return http.StatusGatewayTimeout
	case ServiceUnavailable:
		return http.StatusServiceUnavailable
	case RateLimited, ConcurrencyLimit:
		return http.StatusTooManyRequests
	case InternalError:
		return http.StatusInternalServerError
	default:
		return http.StatusBadGateway
	}
}

// kind returns the kind of the failure's refusal.
func (f Failure) kind() fault.Kind {
	switch f.Type {
	case InvalidInput, PolicyViolation:
		return fault.Invalid
	case RateLimited, ConcurrencyLimit:
		return fault.Exhausted
	case InternalError:
		return fault.Internal
	default:
		return fault.Unavailable
	}
}

// refusal returns the refusal for a recorded failure.
func (f Failure) refusal() *Refusal {
	r := &Refusal{
		Kind: f.kind(), Type: f.Type, Detail: f.Detail, UpstreamStatus: f.UpstreamStatus,
		UpstreamDetail: f.UpstreamDetail, RefusalSubject: f.RefusalSubject,
	}
	if f.Validation != "" {
		r.Validation = json.RawMessage(f.Validation)
	}
	return r
}
