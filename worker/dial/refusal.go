package dial

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// readRefusal is how long a failed write waits for the server's reason.
const readRefusal = time.Second

// reasoned are transport credentials whose connections report why the server closed them. In TLS 1.3 the client
// finishes its handshake before the server has checked the client's certificate. A server that refuses the certificate
// sends the reason and closes the connection, so the first write of the client can fail before the reason was read.
type reasoned struct {
	credentials.TransportCredentials
}

func (r reasoned) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := r.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return reasonedConn{conn}, info, nil
}

func (r reasoned) Clone() credentials.TransportCredentials {
	return reasoned{r.TransportCredentials.Clone()}
}

type reasonedConn struct{ net.Conn }

// Write returns the server's reason, if it sent one, in place of "connection reset" or "broken pipe".
func (c reasonedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err == nil {
		return n, nil
	}
	if c.SetReadDeadline(time.Now().Add(readRefusal)) != nil {
		return n, err
	}
	for { // what the server sent before it closed the connection is of no use: the connection cannot be written to
		if _, readErr := c.Read(make([]byte, 512)); readErr != nil {
			return n, refusal(readErr, err)
		}
	}
}

// refusal returns what was read if it is the alert of the server, otherwise the error of the write.
func refusal(read, write error) error {
	var alert *net.OpError
	if errors.As(read, &alert) && alert.Op == "remote error" {
		return read
	}
	return write
}
