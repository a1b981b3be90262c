package dial_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"

	"github.com/millrace-dev/millrace/worker/dial"
)

// names is a DNS server that knows addresses and nothing else: any other question stays without an answer, as in a network
// without the DNS of the world.
type names struct {
	mu    sync.Mutex
	other []string // other questions, guarded by mu
}

func (n *names) serve(conn net.PacketConn) {
	buf := make([]byte, 512)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var asked dnsmessage.Message
		if asked.Unpack(buf[:size]) != nil || len(asked.Questions) == 0 {
			continue
		}
		q := asked.Questions[0]
		reply := dnsmessage.Message{Header: dnsmessage.Header{ID: asked.ID, Response: true, Authoritative: true}, Questions: asked.Questions}
		switch q.Type {
		case dnsmessage.TypeA:
			reply.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		case dnsmessage.TypeAAAA: // none
		default:
			n.mu.Lock()
			n.other = append(n.other, q.Type.String()+" "+q.Name.String())
			n.mu.Unlock()
			continue
		}
		if packed, err := reply.Pack(); err == nil {
			_, _ = conn.WriteTo(packed, from)
		}
	}
}

// plain is a frontend without TLS.
type plain struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (plain) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (plain) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse,
	error,
) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

// A network whose names are answered within it alone, as in a cluster without a way out, is enough.
func TestPublicDNSIsNotQueried(t *testing.T) { //nolint:paralleltest // replaces the resolver of the process
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	known := &names{}
	go known.serve(conn)
	former := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = former })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, plain{})
	go server.Serve(l) // until the test ends
	t.Cleanup(server.Stop)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, ask(ctx, dial.Settings{Address: net.JoinHostPort("temporal.cluster.test.", port), Namespace: "default"}))
	known.mu.Lock()
	defer known.mu.Unlock()
	require.Empty(t, strings.Join(known.other, ", "), "the service config of the name, and the like")
}
