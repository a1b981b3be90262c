package webtoken

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Bounds of the issuer's keys.
const (
	fetchTimeout = 5 * time.Second
	maxKeys      = 1 << 20          // bytes of a JWKS
	freshFor     = 10 * time.Minute // age at which keys are fetched again
	staleFor     = 24 * time.Hour   // further time for which keys are used while the issuer is down
	pause        = 10 * time.Second // minimum time between two fetches
	minRSA       = 2048             // bits
	maxRedirects = 3
)

// keySet is the issuer's public keys, fetched when they are needed. An unknown key id causes a fetch, so that a
// rotation takes effect at once; the pause prevents invented key ids from causing a flood of requests.
type keySet struct {
	opts   Options
	flight singleflight.Group

	mu        sync.Mutex        // guards all below
	known     []jose.JSONWebKey // each for the one algorithm that it names
	fetched   time.Time         // time of the last successful fetch
	lastFetch time.Time         // time of the last attempt to fetch
}

// checkAddress refuses a JWKS address for which others could answer in place of the issuer.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("the JWKS address of tokens is not an https URL")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return errors.New("the JWKS address of tokens is not an https URL")
	}
	return nil
}

func boundedClient() *http.Client {
	return &http.Client{
		Timeout: fetchTimeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: fetchTimeout}).DialContext,
			TLSHandshakeTimeout: fetchTimeout, MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 1, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || checkAddress(req.URL.String()) != nil {
				return errors.New("the address of the issuer's keys redirects too often, or to an address without https")
			}
			return nil
		},
	}
}

// errNoKey reports a token whose key the issuer does not publish.
var errNoKey = errors.New("the issuer publishes no such key")

// find returns the key with an id for an algorithm; without an id, the only key for the algorithm. It is Unavailable
// if the issuer does not answer and no usable key is cached.
func (s *keySet) find(ctx context.Context, id, algorithm string) (any, error) {
	key, state := s.lookup(id, algorithm)
	if state.found && state.due { // the key is still valid: the request need not wait for the issuer
		s.startFetch(ctx)
		return key, nil
	}
	if state.due {
		err := s.refresh(ctx)
		if key, state = s.lookup(id, algorithm); err != nil && !state.found {
			return nil, errUnavailable(err)
		}
	}
	switch {
	case state.found:
		return key, nil
	case state.none:
		return nil, errUnavailable(errors.New("the last attempt to fetch them failed"))
	}
	return nil, errNoKey
}

func errUnavailable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "", "the keys of the token's issuer cannot be fetched now; try again later")
}

// keyState is the state of one key in the cached set.
type keyState struct {
	found bool
	due   bool // the keys should be fetched again
	none  bool // no keys are cached
}

// lookup returns a cached key and its state.
func (s *keySet) lookup(id, algorithm string) (any, keyState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	age, paused := now.Sub(s.fetched), now.Sub(s.lastFetch) < pause
	if s.fetched.IsZero() || age >= freshFor+staleFor {
		return nil, keyState{none: true, due: !paused}
	}
	key, found := s.choose(id, algorithm)
	return key, keyState{found: found, due: (age >= freshFor || !found) && !paused}
}

func (s *keySet) choose(id, algorithm string) (any, bool) {
	var only any
	count := 0
	for _, k := range s.known {
		if k.Algorithm != algorithm {
			continue
		}
		if id != "" && k.KeyID == id {
			return k.Key, true
		}
		only, count = k.Key, count+1
	}
	return only, id == "" && count == 1
}

// refresh fetches the keys and waits for them.
func (s *keySet) refresh(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r := <-s.startFetch(ctx):
		return r.Err
	}
}

// startFetch fetches the keys. Concurrent callers share one fetch, which continues if a caller leaves and ends after
// fetchTimeout. A call just after a fetch starts no other one.
func (s *keySet) startFetch(ctx context.Context) <-chan singleflight.Result {
	return s.flight.DoChan("", func() (any, error) {
		if s.fetchedRecently() {
			return nil, nil // the keys are up to date
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		keys, err := s.fetch(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lastFetch = s.opts.Now()
		if err != nil {
			s.opts.Log.Warn("token keys cannot be fetched", "url", s.opts.JWKS, "error", err)
			return nil, err
		}
		s.known, s.fetched = keys, s.lastFetch
		return nil, nil // the keys are stored in s
	})
}

func (s *keySet) fetchedRecently() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Now().Sub(s.lastFetch) < pause
}

func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.opts.JWKS, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := s.opts.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answered %s", res.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxKeys {
		return nil, fmt.Errorf("the issuer's keys are larger than %d bytes", maxKeys)
	}
	return parseKeys(raw)
}

// parseKeys returns the usable public keys of a JWKS. It ignores keys of other kinds and uses.
func parseKeys(raw []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("the issuer's keys are not a JWKS: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, each := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(each) != nil || !k.Valid() || k.Use != "" && k.Use != "sig" {
			continue // a key of another kind
		}
		k = k.Public()
		algorithm := string(algorithmOf(k.Key))
		if algorithm != "" && (k.Algorithm == "" || k.Algorithm == algorithm) {
			k.Algorithm = algorithm
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer publishes no key for RS256, ES256 or EdDSA")
	}
	return keys, nil
}

// algorithmOf returns the algorithm for which a public key can be used, or "".
func algorithmOf(key any) jose.SignatureAlgorithm {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() >= minRSA {
			return jose.RS256
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return jose.ES256
		}
	case ed25519.PublicKey:
		return jose.EdDSA
	}
	return ""
}
