package provider

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// details are the default sentences of the error types, safe to show to an end user.
var details = map[string]string{
	"invalid_input":            "The provider refused the input.",
	"content_policy_violation": "The provider refused the request on content-policy grounds.",
	"provider_error":           "The provider failed.",
	"provider_timeout":         "The provider did not answer in time.",
	"service_unavailable":      "The provider is temporarily unavailable; try again later.",
}

// subjects are the values of refusal_subject.
var subjects = map[string]bool{
	"input": true, "output": true, "input_text": true, "input_image": true, "input_video": true, "input_audio": true,
	"output_text": true, "output_image": true, "output_video": true, "output_audio": true,
}

func failureOf(errorType string, charged catalog.Charges) *Failure {
	return &Failure{Type: errorType, Detail: details[errorType], Charged: charged}
}

// RefusesRouter reports whether the provider refuses the router itself, because of a bad credential or an account
// without funds. The provider has run nothing in this case.
func (f *Failure) RefusesRouter() bool {
	return f.UpstreamStatus == http.StatusUnauthorized || f.UpstreamStatus == http.StatusPaymentRequired ||
		f.UpstreamStatus == http.StatusForbidden
}

// timedOut returns the failure of an exchange that was sent and then exceeded a time bound, or nil.
func timedOut(err error) *Failure {
	if errors.Is(err, ErrNotSent) || (!errors.Is(err, outbound.ErrSlow) && !errors.Is(err, outbound.ErrStalled)) {
		return nil
	}
	return failureOf("provider_timeout", catalog.ChargesUnknown)
}

// failed reads an answer with an error status and classifies it.
func (a *response) failed(c *Client, m *catalog.Model) Outcome {
	raw, err := io.ReadAll(io.LimitReader(a, maxErrorBody))
	if err != nil {
		raw = nil // without a document, the status alone determines the class
	}
	document, err := jsondoc.Skeleton(bytes.NewReader(raw))
	if err != nil {
		document = nil
	}
	scope := a.scope(catalog.Scope{Settings: c.settings(m)}, document)
	return Outcome{Phase: Failed, Status: a.status, Failure: c.classify(m, scope, raw), Headers: a.headers, Document: document}
}

// classify classifies an answer that is not a result by the error types of the router contract: first by the entry's
// rules, then by the rules that all providers share, and otherwise as provider_error.
func (c *Client) classify(m *catalog.Model, s catalog.Scope, raw []byte) *Failure {
	for _, rule := range m.Errors {
		if !rule.When.Holds(s) {
			continue
		}
		f := failureOf(rule.Type, charged(m, rule.Type, s.Status))
		if rule.Detail != "" {
			f.Detail = rule.Detail
		}
		f.UpstreamStatus, f.Retryable = s.Status, rule.Retryable
		if subject := rule.Subject.Text(s); subjects[subject] {
			f.RefusalSubject = subject
		}
		if rule.Validation != "" {
			f.Validation = jsondoc.Raw(raw, rule.Validation)[rule.Validation]
		}
		if rule.Type == "invalid_input" {
			f.UpstreamDetail = c.message(m, s)
		}
		return f
	}
	f := failureOf("provider_error", charged(m, "provider_error", s.Status))
	f.UpstreamStatus = s.Status
	return f
}

// charged returns whether a failed call costs money. For a refusal on policy grounds the entry defines it, for a
// failure of the provider it is unknown, and any other refusal costs nothing.
func charged(m *catalog.Model, errorType string, status int) catalog.Charges {
	switch {
	case errorType == "content_policy_violation":
		return m.Billing.ChargesOnPolicyRejection
	case errorType == "provider_timeout", status >= 500 && errorType == "provider_error":
		return catalog.ChargesUnknown
	default:
		return catalog.ChargesNo
	}
}

// maxMessage bounds the provider's message in runes.
const maxMessage = 500

// message returns the provider's own error message, without secrets and control characters.
func (c *Client) message(m *catalog.Model, s catalog.Scope) string {
	for _, e := range m.Messages {
		if text, ok := e.Eval(s).(string); ok && strings.TrimSpace(text) != "" {
			return c.clean(m, text)
		}
	}
	return ""
}

// accountName matches the keys and account names that occur in providers' messages.
var accountName = regexp.MustCompile(`\b(sk|pk|key|org|proj|acct|user|api|r8|fal)[-_][A-Za-z0-9_*-]{6,}`)

// overwritten matches the replacement of a secret that was overwritten while the answer was read.
var overwritten = regexp.MustCompile(`\*{8,}`)

func (c *Client) clean(m *catalog.Model, text string) string {
	for _, name := range append(slices.Clone(m.Auth.Env), settingNames(m)...) {
		if secret, ok := c.lookup(name); ok && len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	text = overwritten.ReplaceAllString(accountName.ReplaceAllString(text, "***"), "***")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}

func settingNames(m *catalog.Model) []string {
	names := make([]string, 0, len(m.Settings))
	for _, env := range m.Settings {
		names = append(names, env)
	}
	return names
}
