package live_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api"
	"github.com/millrace-dev/millrace/api/apitest"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/stream"
)

func TestSocketBeginsWithStatusAndSession(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Live.Snap = stream.Snapshot{Remaining: 3}
	for _, path := range []string{"/ws", "/api/ws"} {
		conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+path+"?clientId=c1", nil)
		require.NoError(t, err)
		require.JSONEq(t, `{"type":"status","data":{"status":{"exec_info":{"queue_remaining":3}},"sid":"c1"}}`, apitest.Next(t, conn))
		require.NoError(t, conn.Close())
	}
	anonymous, _, err := websocket.DefaultDialer.DialContext(t.Context(), h.SocketURL(""), nil)
	require.NoError(t, err)
	defer anonymous.Close()
	var first struct{ Data struct{ SID string } }
	require.NoError(t, json.Unmarshal([]byte(apitest.Next(t, anonymous)), &first))
	require.Len(t, first.Data.SID, 32)
}

func TestSocketCredentials(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeToken})
	for query, status := range map[string]int{"token=wrong": 401, "": 401, "token=s3cret": 101} {
		conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), h.SocketURL(query), nil)
		require.Equal(t, status, res.StatusCode)
		if err == nil {
			conn.Close()
		}
	}
}

func TestSocketRefusesForeignOrigins(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	_, res, err := websocket.DefaultDialer.DialContext(t.Context(), h.SocketURL(""), http.Header{"Origin": {"https://evil.example"}})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, res.StatusCode)
}

func TestEverySocketOfAnAccountGetsTheSameMessages(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{Mode: account.ModeKeys})
	first, second := h.Dial(t, "token=key-a&clientId=1"), h.Dial(t, "token=key-a")
	other := h.Dial(t, "token=key-b")
	h.Hub.Publish("a", apitest.Text(`{"n":1}`), apitest.Text(`{"n":2}`))
	h.Hub.Publish("b", apitest.Text(`{"n":3}`))
	for _, conn := range []*websocket.Conn{first, second} {
		require.Equal(t, `{"n":1}`, apitest.Next(t, conn))
		require.Equal(t, `{"n":2}`, apitest.Next(t, conn))
	}
	require.Equal(t, `{"n":3}`, apitest.Next(t, other))
}

func TestRoutingByClient(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{RouteByClient: true})
	mine, other := h.Dial(t, "clientId=mine"), h.Dial(t, "clientId=other")
	h.Hub.Publish(account.LocalID,
		&stream.Message{ClientID: "mine", Text: []byte(`"for mine"`)},
		&stream.Message{Text: []byte(`"for nobody"`)},
		&stream.Message{ClientID: "mine", Broadcast: true, Text: []byte(`"for all"`)})
	require.Equal(t, `"for mine"`, apitest.Next(t, mine))
	require.Equal(t, `"for all"`, apitest.Next(t, mine))
	require.Equal(t, `"for all"`, apitest.Next(t, other))
}

// A client that follows one job at a time gets the messages of a job after those of the job that it follows, and meanwhile none of other
// clients' jobs. Others get them at once.
func TestAClientThatFollowsOneJobAtATimeGetsThemInTurn(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	said := func(of job.ID, text string) *stream.Message {
		return &stream.Message{Job: of, ClientID: "painter", Text: []byte(text), InTurn: true}
	}
	ends := func(of job.ID, text string) *stream.Message {
		m := said(of, text)
		m.State = &job.Job{ID: of, State: job.Succeeded}
		return m
	}
	state := func(of job.ID, text string) *stream.Message {
		m := said(of, text)
		m.Whole = true
		return m
	}
	preview := said("second", "")
	preview.Text, preview.Frame = nil, &stream.Frame{Kind: stream.FramePreview, Node: "3", Data: []byte("x"), ContentType: "image/jpeg"}
	painter, other := h.Dial(t, "clientId=painter"), h.Dial(t, "clientId=other")
	h.Hub.Publish(account.LocalID,
		&stream.Message{Job: "before", ClientID: "other", Text: []byte(`"other begins"`)}, said("first", `"first begins"`),
		&stream.Message{Job: "theirs", ClientID: "another", Text: []byte(`"another begins"`)},
		&stream.Message{Job: "theirs", ClientID: "another", Text: []byte(`"for all"`), Broadcast: true},
		said("second", `"second begins"`), state("second", `"an outdated state"`), apitest.Text(`"status"`),
		preview, said("third", `"third begins"`), state("second", `"state of second"`), ends("second", `"second ends"`),
		said("first", `"first goes on"`), ends("first", `"first ends"`), said("third", `"third goes on"`))
	for _, want := range []string{
		`"other begins"`, `"first begins"`, `"for all"`, `"status"`, `"first goes on"`, `"first ends"`,
		`"second begins"`, `"state of second"`, `"second ends"`, `"third begins"`, `"third goes on"`,
	} {
		require.Equal(t, want, apitest.Next(t, painter))
	}
	for _, want := range []string{
		`"other begins"`, `"first begins"`, `"another begins"`, `"for all"`, `"second begins"`, `"an outdated state"`, `"status"`,
	} {
		require.Equal(t, want, apitest.Next(t, other))
	}
	nobodys := h.Dial(t, "")
	h.Hub.Publish(account.LocalID, &stream.Message{Job: "fourth", Text: []byte(`"fourth"`), InTurn: true},
		&stream.Message{Job: "fifth", Text: []byte(`"fifth"`), InTurn: true})
	require.Equal(t, `"fourth"`, apitest.Next(t, nobodys))
	require.Equal(t, `"fifth"`, apitest.Next(t, nobodys), "a client without an id follows no job")

	h.Live.Snap = stream.Snapshot{
		Ended: []*stream.Message{said("zeroth", `"zeroth ended"`)},
		Jobs: []stream.Live{
			{Job: job.Job{ID: "first", ClientID: "painter", InTurn: true}, LastNode: "7"},
			{Job: job.Job{ID: "second", ClientID: "painter", InTurn: true}, LastNode: "8"},
		},
	}
	again := h.Dial(t, "clientId=painter")
	h.Hub.Publish(account.LocalID, said("second", `"second goes on"`), ends("first", `"first ends"`))
	for _, want := range []string{
		`"zeroth ended"`, `{"type":"executing","data":{"node":"7"}}`, `"first ends"`, `"second goes on"`,
	} {
		require.Equal(t, want, apitest.Next(t, again))
	}

	h.Live.Snap.Ended, h.Live.Snap.Jobs[0].LastNode = nil, "" // the first job has begun, and waits for a server
	waits := h.Dial(t, "clientId=painter")
	h.Hub.Publish(account.LocalID, &stream.Message{Job: "theirs", ClientID: "another", Text: []byte(`"another begins"`)},
		said("second", `"second goes on"`), ends("first", `"first ends"`))
	for _, want := range []string{`"first ends"`, `"second goes on"`} {
		require.Equal(t, want, apitest.Next(t, waits))
	}
}

// Too many messages that wait for the end of another job end the socket.
func TestMessagesThatWaitForTheirTurnAreBounded(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	conn := h.Dial(t, "clientId=painter")
	large := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	h.Hub.Publish(account.LocalID, &stream.Message{Job: "first", ClientID: "painter", Text: []byte(`"first"`), InTurn: true})
	require.Equal(t, `"first"`, apitest.Next(t, conn))
	for i := range 20 {
		h.Hub.Publish(account.LocalID, &stream.Message{Job: "second", ClientID: "painter", Text: large, InTurn: true},
			apitest.Text(fmt.Sprint(i)))
		if i < 15 {
			require.Equal(t, fmt.Sprint(i), apitest.Next(t, conn))
		}
	}
	require.Equal(t, websocket.CloseTryAgainLater, apitest.CloseOf(t, conn).Code)
}

func TestReconnectReportsTheExecutingNode(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Live.Snap = stream.Snapshot{Remaining: 1, Jobs: []stream.Live{{Job: job.Job{ID: apitest.JobA, ClientID: "c1"}, LastNode: "7"}}}
	back := h.Dial(t, "clientId=c1")
	require.JSONEq(t, `{"type":"executing","data":{"node":"7"}}`, apitest.Next(t, back))
	stranger := h.Dial(t, "clientId=c2")
	h.Hub.Publish(account.LocalID, apitest.Text(`"next"`))
	require.Equal(t, `"next"`, apitest.Next(t, stranger))
}

func TestASocketGetsTheLastMessagesOfItsJob(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	h.Live.Snap = stream.Snapshot{Ended: []*stream.Message{
		{ClientID: "c2", Text: []byte(`"of another"`)}, {ClientID: "c1", Text: []byte(`"over"`)}, {Text: []byte(`"of nobody"`)},
	}}
	mine, nobodys := h.Dial(t, "clientId=c1"), h.Dial(t, "")
	require.Equal(t, `"over"`, apitest.Next(t, mine))
	h.Hub.Publish(account.LocalID, apitest.Text(`"next"`))
	require.Equal(t, `"next"`, apitest.Next(t, mine))
	require.Equal(t, `"next"`, apitest.Next(t, nobodys))
}

func TestFeatureFlagsAreNegotiatedByTheFirstMessage(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	const node = "nöde"
	flagged, plain, late := h.Dial(t, ""), h.Dial(t, ""), h.Dial(t, "")
	flags := []byte(`{"type":"feature_flags","data":{"supports_preview_metadata":true}}`)
	require.NoError(t, flagged.WriteMessage(websocket.TextMessage, flags))
	reply := apitest.Next(t, flagged)
	require.Contains(t, reply, `"type":"feature_flags"`)
	require.Contains(t, reply, `"supports_preview_metadata":true`)
	require.NoError(t, late.WriteMessage(websocket.TextMessage, []byte(`not json`)))
	require.NoError(t, late.WriteMessage(websocket.TextMessage, flags))
	// The server has read what a client sent before a ping once the pong is back.
	pong := make(chan struct{})
	late.SetPongHandler(func(string) error { close(pong); return nil })
	require.NoError(t, late.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(time.Minute)))
	read := make(chan string, 1)
	go func() {
		_, raw, err := late.ReadMessage()
		if err == nil {
			read <- string(raw)
		}
	}()
	<-pong

	h.Hub.Publish(account.LocalID, apitest.Preview(node, "image/png", "PNG"))
	want1 := append([]byte{0, 0, 0, 1, 0, 0, 0, 2}, "PNG"...)
	require.Equal(t, string(want1), apitest.Next(t, plain))
	require.Equal(t, string(want1), <-read, "flags after the first message are not looked at")

	got := []byte(apitest.Next(t, flagged))
	require.Equal(t, uint32(4), binary.BigEndian.Uint32(got))
	size := binary.BigEndian.Uint32(got[4:])
	require.JSONEq(t, fmt.Sprintf(`{"node_id":%q,"prompt_id":%q,"display_node_id":%[1]q,"parent_node_id":null,"real_node_id":%[1]q,`+
		`"image_type":"image/png"}`,
		node, apitest.JobA), string(got[8:8+size]))
	require.Equal(t, "PNG", string(got[8+size:]))

	inner := apitest.Preview("2.0.0.1", "image/png", "PNG") // of a node that another expanded to
	inner.Frame.Within = &job.Expansion{Parent: "2", Display: "1", Real: "3"}
	h.Hub.Publish(account.LocalID, inner)
	got = []byte(apitest.Next(t, flagged))
	size = binary.BigEndian.Uint32(got[4:])
	require.JSONEq(t, fmt.Sprintf(`{"node_id":"2.0.0.1","prompt_id":%q,"display_node_id":"1","parent_node_id":"2","real_node_id":"3",`+
		`"image_type":"image/png"}`,
		apitest.JobA), string(got[8:8+size]))
}

func TestBinaryLengthsCountBytes(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	conn := h.Dial(t, "")
	h.Hub.Publish(account.LocalID,
		&stream.Message{Frame: &stream.Frame{Node: "größe", Kind: stream.FrameText, Data: []byte("ünï")}},
		apitest.Preview("1", "image/jpeg", "J"))
	require.Equal(t, "\x00\x00\x00\x03\x00\x00\x00\x07größeünï", apitest.Next(t, conn))
	require.Equal(t, "\x00\x00\x00\x01\x00\x00\x00\x01J", apitest.Next(t, conn))
}

func TestSlowSocketIsClosedWithoutDelayingOthers(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	slow, quick := h.Dial(t, ""), h.Dial(t, "")
	big := strings.Repeat("x", 1<<20)
	for i := range 64 { // far more than the queue and the buffers of the network hold
		h.Hub.Publish(account.LocalID, apitest.Text(fmt.Sprintf("%d%s", i, big)))
		require.True(t, strings.HasPrefix(apitest.Next(t, quick), fmt.Sprint(i)))
	}
	require.Equal(t, 1, h.Hub.Watched(account.LocalID), "the slow one is out")
	closed := apitest.CloseOf(t, slow)
	require.Equal(t, websocket.CloseTryAgainLater, closed.Code)
	require.Equal(t, "slow", closed.Text)
}

func TestShutdownSendsACloseFrame(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	conn := h.Dial(t, "")
	h.Hub.Stop()
	closed := apitest.CloseOf(t, conn)
	require.Equal(t, websocket.CloseGoingAway, closed.Code)
	require.Equal(t, "shutdown", closed.Text)
}

func TestSocketsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{MaxSockets: 1})
	h.Dial(t, "")
	_, res, err := websocket.DefaultDialer.DialContext(t.Context(), h.SocketURL(""), nil)
	require.Error(t, err)
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Equal(t, "1", res.Header.Get("Retry-After"))
}

func TestMalformedFramesEndTheSocketOnly(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	conn := h.Dial(t, "")
	_, err := conn.NetConn().Write([]byte{0xff, 0xff, 0xff, 0xff})
	require.NoError(t, err)
	require.Equal(t, websocket.CloseProtocolError, apitest.CloseOf(t, conn).Code)
	require.Equal(t, http.StatusOK, h.Do(t, "GET", "/healthz", "").Status)
}

func TestALargeClientMessageEndsTheSocket(t *testing.T) {
	t.Parallel()
	h := apitest.Start(t, apitest.Options{})
	conn := h.Dial(t, "")
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, make([]byte, 65<<10)))
	require.Equal(t, websocket.CloseMessageTooBig, apitest.CloseOf(t, conn).Code)
}

type hubSource struct{ hub *stream.Hub }

func (s hubSource) Subscribe(_ context.Context, owner string) (*stream.Subscription, stream.Snapshot, error) {
	return s.hub.Subscribe(owner), stream.Snapshot{}, nil
}

// The recovery middleware answers a panic, but not on a connection that was taken over from the server.
func TestAPanicOfASocketClosesItsConnection(t *testing.T) {
	t.Parallel()
	e, err := edge.New(edge.Deps{Auth: account.Anyone{}, Logger: slog.New(slog.DiscardHandler)}, edge.Options{})
	require.NoError(t, err)
	hub := stream.NewHub(stream.HubOptions{})
	defer hub.Stop()
	handler, err := api.New(e, live.New(live.Deps{
		Edge: e, Source: hubSource{hub}, Features: func() map[string]any { panic("of a test") },
	}, live.Options{MaxSockets: 1}))
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/ws", nil)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	_, _, err = conn.ReadMessage()
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Error(t, err)
}
