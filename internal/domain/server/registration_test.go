package server_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// An address is in its normal form, or refused, whatever is wrong with it.
func TestAddressesOfServers(t *testing.T) {
	t.Parallel()
	longest := "http://h/" + strings.Repeat("x", 2000-len("http://h/"))
	for text, want := range map[string]string{
		longest: longest, "http://h/a%2Fb": "http://h/a/b", "http://h//a/../b/": "http://h/b", "https://h:80/": "https://h:80",
		"http://h:443": "http://h:443",
	} {
		got, err := server.ParseURL(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	const none = "is not the address of a server"
	for text, says := range map[string]string{
		longest + "x": none, "http://h:port": none, "http://:8188": none, "http:///x": none, "ftp://h": none,
		"http://u@h": "no user and no password", "http://h?q": "no query and no fragment", "http://h#f": "no query and no fragment",
	} {
		got, err := server.ParseURL(text)
		require.Equal(t, fault.CodeInvalidServer, fault.CodeOf(err), text)
		require.ErrorContains(t, err, says, text)
		require.Empty(t, got)
	}
	long := strings.Repeat("x", 101)
	require.Equal(t, fault.Shorten(long, 100), server.Unnamed(long))
	require.NotEqual(t, long, server.Unnamed(long))
	require.Equal(t, long[1:], server.Unnamed(long[1:]))
	for text, want := range map[string]string{"@h": "h", "http://@h": "http://h", "u@h,label=x": "h", "http://u:p@h": "http://h"} {
		require.Equal(t, want, server.Unnamed(text))
	}
	require.Equal(t, server.Registration{
		URL: "http://h", Labels: []string{}, Slots: 1, Fixed: true, By: server.By{Actor: "configuration", Reason: "named by --comfyui"},
	}, server.UnusableFixed("http://u:p@h,label=x"))
}

// A registration is completed by the program and by its token.
func TestARegistrationIsCompleted(t *testing.T) {
	t.Parallel()
	by := server.By{Actor: "ops", Reason: "new"}
	r := server.Registration{URL: "http://H:80/", Labels: []string{"b", "a", "b"}, ModelsFolder: "/m/../n/", By: by}
	require.NoError(t, r.Check())
	require.Equal(t, server.Registration{URL: "http://h", Labels: []string{"a", "b"}, Slots: 1, ModelsFolder: "/n", By: by}, r)

	token := &server.Token{Name: "t", Labels: []string{"c", "a"}, Price: 5}
	from := netip.MustParseAddr("10.0.0.1")
	r = server.Registration{URL: "http://10.0.0.1", Labels: []string{"b", "a"}, Price: 9, Token: token, From: from, ExpiresIn: time.Second}
	require.NoError(t, r.Check())
	require.Equal(t, server.Registration{
		URL: "http://10.0.0.1", Labels: []string{"a", "b", "c"}, Slots: 1, Price: 5, Token: token, From: from, ExpiresIn: time.Second,
		By: server.By{Actor: "token:t", Reason: "registered by its machine"},
	}, r)
	r.By.Reason = "my own"
	require.NoError(t, r.Check())
	require.Equal(t, "my own", r.By.Reason)
	token.Labels = []string{"no label"}
	require.ErrorContains(t, r.Check(), "is not a label")
	r.ExpiresIn = 25 * time.Hour
	require.ErrorContains(t, r.Check(), "must expire within 24h0m0s")
}

// The actor and the reason of a command are needed, and bounded.
func TestCommandsNameTheirActorAndReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by server.By
		ok bool
	}{
		{server.By{Actor: "ops", Reason: "r"}, true},
		{server.By{Reason: "r"}, false},
		{server.By{Actor: "ops"}, false},
		{server.By{}, false},
		{server.By{Actor: "ops", Reason: strings.Repeat("r", 1000)}, true},
		{server.By{Actor: "ops", Reason: strings.Repeat("r", 1001)}, false},
	} {
		r := server.Registration{URL: "http://h", By: c.by}
		for _, err := range []error{server.CheckBy(c.by), r.Check()} {
			require.Equal(t, c.ok, err == nil, "%v", err)
			if !c.ok {
				require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
				require.ErrorContains(t, err, "at most 1000 bytes")
			}
		}
	}
}

func TestFoldersOfModelsAreAbsolutePaths(t *testing.T) {
	t.Parallel()
	longest := "/" + strings.Repeat("m", 999)
	for folder, ok := range map[string]bool{longest: true, longest + "m": false, "m": false, "/m\x00": false, "/m\x01": true, "/": true} {
		r := server.Registration{URL: "http://h", ModelsFolder: folder, By: server.By{Actor: "ops", Reason: "new"}}
		err := r.Check()
		require.Equal(t, ok, err == nil, "%q: %v", folder, err)
		if !ok {
			require.Equal(t, fault.CodeInvalidServer, fault.CodeOf(err))
		}
	}
}

// A refusal says which machines the token may register.
func TestATokenSaysWhatItMayNotRegister(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts      []string
		from, says string
	}{
		{[]string{"a", "b"}, "10.0.0.1", "the token autoscaler may not register http://10.0.0.2: it was made for a, b"},
		{[]string{"a"}, "", "it was made for a"},
		{nil, "", "whose address is unknown"},
		{nil, "::ffff:10.0.0.1", "the machine that sends the request, 10.0.0.1, not http://10.0.0.2; a token for other machines must name"},
	} {
		require.ErrorContains(t, register(c.hosts, c.from, "http://10.0.0.2"), c.says)
	}
	longest := strings.Repeat("a", 253)
	hosts, err := server.ParseHosts([]string{longest})
	require.NoError(t, err)
	require.Equal(t, []string{longest}, hosts)
	_, err = server.ParseHosts([]string{longest + "a"})
	require.ErrorContains(t, err, "is not a host")
	many := make([]string, 32)
	for i := range many {
		many[i] = "h"
	}
	hosts, err = server.ParseHosts(many)
	require.NoError(t, err)
	require.Equal(t, []string{"h"}, hosts)
	_, err = server.ParseHosts(append(many, "h"))
	require.ErrorContains(t, err, "at most 32 hosts")
}

// A token is random, and shown by its beginning.
func TestSecretsOfTokens(t *testing.T) {
	t.Parallel()
	one, prefix := server.NewTokenSecret()
	require.Regexp(t, "^millrace-server-[a-z2-7]{40}$", one)
	require.Equal(t, one[:len("millrace-server-")+6], prefix)
	other, _ := server.NewTokenSecret()
	require.NotEqual(t, one, other)
	require.NotEqual(t, server.HashToken(one), server.HashToken(other))
	require.NotRegexp(t, "a{40}$", one)
	require.NoError(t, server.CheckTokenName(strings.Repeat("a", 63)))
	require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(server.CheckTokenName(strings.Repeat("a", 64))))
	require.Equal(t, fault.CodeTokenNotFound, fault.CodeOf(server.UnknownToken()))
	require.True(t, fault.Is(server.UnknownToken(), fault.NotFound))
	require.Equal(t, "server_token-x", server.Token{ID: "x"}.Stream())
}

// A registry takes each event type once.
func TestTheEventTypesOfServersAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	types := eventlog.NewRegistry()
	require.NoError(t, server.Register(types))
	require.Error(t, server.Register(types))
}
