package dial

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// explained adds the remedy to the error of a refused request, or of a failed connection. It keeps the code and the
// details, which the SDK uses.
func (s Settings) explained(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	text := s.remedy(st)
	if text == "" {
		return err
	}
	proto := st.Proto()
	proto.Message = text
	return status.ErrorProto(proto)
}

// remedy returns the sentence for a refusal, or "".
func (s Settings) remedy(st *status.Status) string {
	switch st.Code() {
	case codes.Unauthenticated:
		return s.refusedKey(st.Message())
	case codes.PermissionDenied:
		return "Temporal at " + s.Address + " refuses this credential in namespace " + s.Namespace + " (" + st.Message() +
			")" + remedyMark + "grant it the namespace, or name another in TEMPORAL_NAMESPACE"
	case codes.NotFound:
		var absent *serviceerror.NamespaceNotFound
		if errors.As(serviceerror.FromStatus(st), &absent) {
			return "Temporal at " + s.Address + " has no namespace " + absent.Namespace + remedyMark +
				"create it (temporal operator namespace create -n " + absent.Namespace +
				"), or name another in TEMPORAL_NAMESPACE"
		}
	case codes.Unavailable, codes.DeadlineExceeded:
		return s.unconnected(st.Message())
	default:
	}
	return ""
}

func (s Settings) refusedKey(message string) string {
	from := "the API key of TEMPORAL_API_KEY"
	switch {
	case s.APIKeyFile != "":
		from = "the API key in " + s.APIKeyFile
	case s.APIKey == "" && s.Cert == "":
		return "Temporal at " + s.Address + " asks for a credential (" + message + ")" + remedyMark +
			"set TEMPORAL_API_KEY_FILE, or a client certificate"
	case s.APIKey == "":
		from = "the client certificate " + s.Cert
	}
	return "Temporal at " + s.Address + " refuses " + from + " (" + message + ")" + remedyMark + "replace it: it is wrong, expired or revoked"
}

// remedyMark separates the problem from its remedy in an error.
const remedyMark = "; remedy: "

// Remedy divides the text of an error of a client that Options configured into the problem and the remedy, or "" if
// there is none.
func Remedy(text string) (wrong, remedy string) {
	wrong, remedy, known := strings.Cut(text, remedyMark)
	if !known {
		return text, ""
	}
	if at := strings.Index(wrong, opening); at > 0 { // the SDK prefixes its own text
		wrong = wrong[at:]
	}
	return wrong, remedy
}

// Unreachable returns the error of a client that could not be created: the sentence for a refused connection, if the
// reason is known.
func Unreachable(address string, err error) error {
	if wrong, remedy := Remedy(err.Error()); remedy != "" {
		return errors.New(wrong + remedyMark + remedy)
	}
	return fmt.Errorf("no Temporal at %s: %w", address, err)
}

// opening begins the sentence for a refused connection.
const opening = "no connection to Temporal at "

// reason is a text in the error of a failed connection, and the remedy. gRPC only passes the text of a cause on.
type reason struct{ text, remedy string }

// reasons are compared in this order.
var reasons = []reason{
	{"remote error: tls: expired certificate", "renew the client certificate, TEMPORAL_TLS_CLIENT_CERT_PATH"},
	{"remote error: tls: certificate required", "give a client certificate: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH"},
	{"remote error: tls: ", "give a client certificate that its CA has signed, TEMPORAL_TLS_CLIENT_CERT_PATH"},
	{"certificate has expired or is not yet valid", "renew the server's certificate, or set this machine's clock"},
	{"signed by unknown authority", "name the CA that signed the server's certificate in TEMPORAL_TLS_SERVER_CA_CERT_PATH"},
	{"certificate is valid for", "name one of the names in the server's certificate in TEMPORAL_TLS_SERVER_NAME"},
	{"doesn't contain any IP SANs", "name one of the names in the server's certificate in TEMPORAL_TLS_SERVER_NAME"},
	{"certificate is not valid for any names", "the server's certificate has no name: leave out TEMPORAL_TLS_SERVER_NAME, or renew the " +
		"certificate with a name"},
	{"first record does not look like a TLS handshake", "leave out the TLS settings and the API key: it speaks no TLS"},
	{"server preface", "use TLS: TEMPORAL_TLS=true, or a CA or a client certificate"},
	{"connection reset by peer", "use TLS: TEMPORAL_TLS=true, or a CA or a client certificate"},
}

// unconnected returns the sentence for a refused connection. An error without a known reason keeps its text: a server
// that is down needs no remedy.
func (s Settings) unconnected(message string) string {
	for _, r := range reasons {
		if r.text == "connection reset by peer" && s.encrypted() || !strings.Contains(message, r.text) {
			continue
		}
		return opening + s.Address + ": " + shorten(message) + remedyMark + r.remedy
	}
	return ""
}

// shorten removes the prefixes that gRPC adds to a cause.
func shorten(message string) string {
	for _, head := range []string{"authentication handshake failed: ", `desc = "`} {
		if _, cause, ok := strings.Cut(message, head); ok {
			return strings.TrimSuffix(cause, `"`)
		}
	}
	return message
}
