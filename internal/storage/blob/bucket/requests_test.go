package bucket_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/bucket"
)

// service is a bucket in memory that remembers the requests that it was sent.
type service struct {
	url       string
	lifecycle string // XML; "" = there is none

	mu       sync.Mutex // guards what follows
	objects  map[string][]byte
	requests []request
}

// request is one that the service was sent.
type request struct {
	kind, path string // put, copy, begin, part, complete, other
	header     http.Header
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{objects: map[string][]byte{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func kindOf(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodPut && q.Has("partNumber"):
		return "part"
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		return "copy"
	case r.Method == http.MethodPut:
		return "put"
	case r.Method == http.MethodPost && q.Has("uploads"):
		return "begin"
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return "complete"
	}
	return "other"
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := kindOf(r)
	s.requests = append(s.requests, request{kind, r.URL.Path, r.Header.Clone()})
	w.Header().Set("ETag", `"e"`)
	w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
	switch {
	case r.URL.Query().Has("lifecycle"):
		s.answerLifecycle(w)
	case kind == "put":
		s.objects[r.URL.Path] = unchunked(body, r.Header)
	case kind == "part":
		s.objects[r.URL.Path] = append(s.objects[r.URL.Path], unchunked(body, r.Header)...)
	case kind == "begin":
		_, _ = io.WriteString(w, `<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
	case kind == "complete":
		_, _ = io.WriteString(w, `<CompleteMultipartUploadResult><Bucket>bucket</Bucket><ETag>e</ETag></CompleteMultipartUploadResult>`)
	case kind == "copy":
		s.objects[r.URL.Path] = s.objects["/"+strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/")]
		_, _ = io.WriteString(w, `<CopyObjectResult><ETag>e</ETag></CopyObjectResult>`)
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 0: // the bucket
	default:
		s.answerObject(w, r)
	}
}

func (s *service) answerObject(w http.ResponseWriter, r *http.Request) {
	object, ok := s.objects[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(object))
}

func (s *service) answerLifecycle(w http.ResponseWriter) {
	if s.lifecycle == "" {
		w.WriteHeader(http.StatusNotFound)
		_ = xml.NewEncoder(w).Encode(struct {
			XMLName xml.Name `xml:"Error"`
			Code    string
		}{Code: "NoSuchLifecycleConfiguration"})
		return
	}
	_, _ = io.WriteString(w, s.lifecycle)
}

var chunk = regexp.MustCompile(`^([0-9a-f]+)(;[^\r]*)?\r\n`)

// unchunked takes the signatures of its pieces out of a streamed body.
func unchunked(body []byte, h http.Header) []byte {
	if !strings.HasPrefix(h.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return body
	}
	var out []byte
	for {
		m := chunk.FindSubmatch(body)
		if m == nil {
			return out
		}
		var size int
		_, _ = fmt.Sscanf(string(m[1]), "%x", &size)
		if body = body[len(m[0]):]; size == 0 {
			return out
		}
		out, body = append(out, body[:size]...), body[size+2:]
	}
}

// of returns the requests of a kind.
func (s *service) of(kind string) (found []request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.kind == kind {
			found = append(found, r)
		}
	}
	return found
}

func (s *service) open(t *testing.T, change func(*bucket.Options)) *bucket.Store {
	t.Helper()
	o := bucket.Options{
		Endpoint: strings.TrimPrefix(s.url, "http://"), Region: "us-east-1", Bucket: "bucket", Prefix: "millrace/", AccessKey: "a",
		SecretKey: "s", Insecure: true, Spool: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	}
	change(&o)
	store, err := bucket.Open(t.Context(), o)
	require.NoError(t, err)
	return store
}

func keep(t *testing.T, s *bucket.Store, content []byte) blob.Ref {
	t.Helper()
	w, err := s.Create(t.Context(), blob.Durable)
	require.NoError(t, err)
	_, err = w.Write(content)
	require.NoError(t, err)
	stored, err := w.Commit(t.Context())
	require.NoError(t, err)
	return stored.Ref
}

// Whatever stores an object asks for the encryption: in one request, in parts, as a copy, the mark of its last use.
func TestEveryWayToStoreAsksForEncryption(t *testing.T) { //nolint:paralleltest // its blobs must not count as memory of TestConformance
	for name, tc := range map[string]struct {
		encrypt        bucket.Encryption
		key, says, kms string
	}{
		"none":                  {},
		"keys of the service":   {encrypt: bucket.SSES3, says: "AES256"},
		"a key of the KMS":      {encrypt: bucket.SSEKMS, key: "alias/millrace", says: "aws:kms", kms: "alias/millrace"},
		"the KMS's default key": {encrypt: bucket.SSEKMS, says: "aws:kms"},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // as above
			service := newService(t)
			s := service.open(t, func(o *bucket.Options) { o.Encrypt, o.KMSKey = tc.encrypt, tc.key })
			small := keep(t, s, []byte("small"))
			keep(t, s, bytes.Repeat([]byte("large "), 4<<20)) // of several parts
			require.NoError(t, s.Touch(t.Context(), small))
			service.mu.Lock()
			service.objects["/bucket/"+key(small)] = []byte("smart")
			service.mu.Unlock()
			r, err := s.Open(t.Context(), small)
			require.NoError(t, err)
			_, err = io.ReadAll(r)
			require.ErrorIs(t, err, blob.ErrCorrupt)
			require.NoError(t, r.Close())

			require.Len(t, service.of("put"), 2, "a blob and a mark")
			require.Len(t, service.of("begin"), 1)
			require.NotEmpty(t, service.of("part"))
			require.Len(t, service.of("copy"), 1, "of the damaged blob")
			for _, kind := range []string{"put", "begin", "copy"} { // parts are encrypted as their upload began
				for _, r := range service.of(kind) {
					require.Equal(t, tc.says, r.header.Get("X-Amz-Server-Side-Encryption"), "%s of %s", kind, r.path)
					require.Equal(t, tc.kms, r.header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"), kind)
				}
			}
		})
	}
}

func TestAnUnknownEncryptionIsRefused(t *testing.T) {
	t.Parallel()
	_, err := bucket.Open(t.Context(), bucket.Options{Endpoint: "127.0.0.1:1", Bucket: "b", Spool: t.TempDir(), Encrypt: "rot13"})
	require.ErrorContains(t, err, `encryption "rot13" is not one of sse-s3, sse-kms`)
}

// credentialsOf answers as the endpoints do from which containers and instances get the credentials of their role. Those of
// the first answer have expired.
func credentialsOf(t *testing.T) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "session") })
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "millrace-role")
	})
	answer := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/container") && r.Header.Get("Authorization") != "pod" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		asked++
		lasts := time.Hour
		if asked == 1 {
			lasts = -time.Minute
		}
		_, _ = fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"role-%d","SecretAccessKey":"secret","Token":"token-%d","Expiration":%q}`,
			asked, asked, time.Now().Add(lasts).UTC().Format(time.RFC3339))
	}
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/millrace-role", answer)
	mux.HandleFunc("GET /container", answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// Without keys, requests are signed with those of the machine's role, which are asked for again when they expire.
func TestCredentialsOfTheMachine(t *testing.T) { //nolint:paralleltest // sets variables of the process
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	for name, set := range map[string]func(t *testing.T, url string){
		"of the instance": func(t *testing.T, url string) { t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url) },
		"of the container": func(t *testing.T, url string) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url+"/container")
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod")
		},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, credentialsOf(t).URL)
			service := newService(t)
			s := service.open(t, func(o *bucket.Options) { o.AccessKey, o.SecretKey = "", "" })
			keep(t, s, []byte("x"))
			put := service.of("put")[0].header
			require.Contains(t, put.Get("Authorization"), "Credential=role-2/", "the first ones had expired")
			require.Equal(t, "token-2", put.Get("X-Amz-Security-Token"))
		})
	}
}

// A rule of the bucket that would expire blobs, or their marks, is named; others are left alone.
func TestLifecycleRulesThatDeleteBlobsAreNamed(t *testing.T) {
	t.Parallel()
	rule := func(id, status, filter, does string) string {
		return "<Rule><ID>" + id + "</ID><Status>" + status + "</Status>" + filter + does + "</Rule>"
	}
	const days, enabled = "<Expiration><Days>30</Days></Expiration>", "Enabled"
	service := newService(t)
	s := service.open(t, func(*bucket.Options) {})
	found, err := s.Harmful(t.Context())
	require.NoError(t, err)
	require.Empty(t, found, "there is no lifecycle")
	service.lifecycle = "<LifecycleConfiguration>" +
		rule("all", enabled, "<Filter></Filter>", days) +
		rule("old-style", enabled, "<Prefix>millrace/</Prefix>", days) +
		rule("some", enabled, "<Filter><Prefix>millrace/blobs/ab/</Prefix></Filter>",
			"<Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration>") +
		rule("marks", enabled, "<Filter><And><Prefix>millrace/touched/</Prefix><ObjectSizeLessThan>10</ObjectSizeLessThan></And></Filter>",
			days) +
		rule("cold", enabled, "<Filter><Prefix>millrace/</Prefix></Filter>",
			"<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>") +
		rule("off", "Disabled", "<Filter></Filter>", days) +
		rule("others", enabled, "<Filter><Prefix>backups/</Prefix></Filter>", days) +
		rule("tagged", enabled, "<Filter><Tag><Key>temporary</Key><Value>1</Value></Tag></Filter>", days) +
		rule("damaged", enabled, "<Filter><Prefix>millrace/damaged/</Prefix></Filter>", days) +
		rule("uploads", enabled, "<Filter></Filter>",
			"<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>") +
		rule("versions", enabled, "<Filter></Filter>",
			"<NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays></NoncurrentVersionExpiration>") +
		rule("warm", enabled, "<Filter></Filter>", "<Transition><Days>30</Days><StorageClass>STANDARD_IA</StorageClass></Transition>") +
		"</LifecycleConfiguration>"
	found, err = s.Harmful(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		`rule "all" expires objects below ""`, `rule "old-style" expires objects below "millrace/"`,
		`rule "some" expires objects below "millrace/blobs/ab/"`,
		`rule "marks" expires objects below "millrace/touched/"`,
		`rule "cold" moves objects below "millrace/" to GLACIER, where they cannot be read`,
	}, found)
}
