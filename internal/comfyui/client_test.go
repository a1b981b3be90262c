package comfyui_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/fault"
	sim "github.com/millrace-dev/millrace/internal/sim/comfyui"
)

// silence is the Options.Silence of clients in tests that wait until it has passed.
const silence = 3 * time.Second

func TestAddressesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for given, wanted := range map[string]string{
		"http://127.0.0.1:8188/":        "http://127.0.0.1:8188",
		" HTTP://GPU.Example:80/comfy/": "http://gpu.example/comfy",
		"https://[fd00::7]:443":         "https://[fd00::7]",
		"https://10.0.0.7:8443":         "https://10.0.0.7:8443",
	} {
		u, err := comfyui.ParseAddress(given)
		require.NoError(t, err, given)
		require.Equal(t, wanted, u.String())
	}
}

func TestMalformedAddressIsRefused(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		"", "gpu:8188", "ftp://gpu", "http://", "http://me:secret@gpu", "http://gpu?x=1", "http://gpu#x",
		"http://gpu:port",
	} {
		_, err := comfyui.New(given, comfyui.Options{})
		require.True(t, fault.Is(err, fault.Invalid), given)
		require.NotContains(t, err.Error(), "secret")
	}
}

// answering returns a client of a server that gives the same answer to every request. The client waits that long for an answer.
func answering(t *testing.T, within time.Duration, handle http.HandlerFunc) *comfyui.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return dial(t, server.URL, comfyui.Options{Silence: within, Timeout: within})
}

func TestIdentifyReportsWhyAServerCannotBeUsed(t *testing.T) {
	t.Parallel()
	stats := func(version string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"system":{"python_version":"3.11","comfyui_version":"`+version+`"},"devices":[]}`) // shows in the test
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   fault.Code
		says   string
	}{
		"TooOld":         {stats("0.2.1"), fault.CodeServerTooOld, "0.2.1"},
		"OldByGit":       {stats("v0.3.56-2-g1234567"), fault.CodeServerTooOld, "v0.3.56-2-g1234567"},
		"VersionMissing": {stats(""), fault.CodeServerTooOld, "of unknown version"},
		// shows
		"SomeWebSite": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, fault.CodeNotComfyUI, "not ComfyUI"},
		// shows
		"OtherJSON":       {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"ok":true}`) }, fault.CodeNotComfyUI, ""},
		"NothingThere":    {status(http.StatusNotFound), fault.CodeNotComfyUI, ""},
		"WrongCredential": {status(http.StatusUnauthorized), fault.CodeServerDenied, "401"},
		"ProxyIsDown":     {status(http.StatusBadGateway), fault.CodeServerError, "502"},
		"Redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}, fault.CodeServerRedirect, "169.254.169.254"},
		"NoAnswer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, fault.CodeServerLost, ""},
		"Endless": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, fault.CodeTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := time.Minute
			if name == "NoAnswer" {
				within = silence
			}
			_, err := answering(t, within, c.answer).Identify(t.Context())
			require.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			require.Contains(t, err.Error(), c.says)
		})
	}
}

func TestTooOldNamesTheVersion(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{Version: "0.2.1"})
	_, err := dial(t, m.URL(), comfyui.Options{}).Identify(t.Context())
	var refused *fault.Error
	require.True(t, errors.As(err, &refused))
	require.Equal(t, map[string]any{"version": "0.2.1", "oldest": "0.3.57"}, refused.Details)
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{})
	m.Kill()
	_, err := c.Submit(t.Context(), picture(t))
	require.Equal(t, fault.CodeServerUnreachable, fault.CodeOf(err), "%v", err)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	err = c.Follow(t.Context(), "me", func(comfyui.Event) error { return nil })
	require.Equal(t, fault.CodeServerUnreachable, fault.CodeOf(err), "%v", err)
}

func TestCertificateOfAServer(t *testing.T) {
	t.Parallel()
	simulated, err := sim.New(sim.Options{})
	require.NoError(t, err)
	t.Cleanup(simulated.Close)
	server := httptest.NewTLSServer(simulated)
	t.Cleanup(server.Close)

	_, err = dial(t, server.URL, comfyui.Options{}).Identify(t.Context())
	require.Equal(t, fault.CodeServerCertificate, fault.CodeOf(err), "%v", err)
	err = dial(t, server.URL, comfyui.Options{}).Follow(t.Context(), "me", func(comfyui.Event) error { return nil })
	require.Equal(t, fault.CodeServerCertificate, fault.CodeOf(err), "%v", err)

	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	c := dial(t, server.URL, comfyui.Options{RootCAs: trusted})
	_, err = c.Identify(t.Context())
	require.NoError(t, err)
	enough := errors.New("enough")
	require.ErrorIs(t, c.Follow(t.Context(), "me", func(comfyui.Event) error { return enough }), enough)

	plain := httptest.NewServer(simulated)
	t.Cleanup(plain.Close)
	_, err = dial(t, strings.Replace(plain.URL, "http://", "https://", 1), comfyui.Options{}).Identify(t.Context())
	require.Equal(t, fault.CodeServerUnreachable, fault.CodeOf(err), "%v", err)
}

func TestHeadersGoWithEveryRequest(t *testing.T) {
	t.Parallel()
	simulated, err := sim.New(sim.Options{})
	require.NoError(t, err)
	t.Cleanup(simulated.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" || r.Header.Get("Origin") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.StripPrefix("/gpu/1", simulated).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := dial(t, server.URL+"/gpu/1/", comfyui.Options{Header: http.Header{"Authorization": {"Bearer token"}}})
	_, err = c.Identify(t.Context())
	require.NoError(t, err)
	enough := errors.New("enough")
	require.ErrorIs(t, c.Follow(t.Context(), "me", func(comfyui.Event) error { return enough }), enough)
	stored, err := c.Put(t.Context(), comfyui.Upload{Name: "a.txt", Size: 1, Body: strings.NewReader("a")})
	require.NoError(t, err)
	d, err := c.Fetch(t.Context(), stored, 10)
	require.NoError(t, err)
	require.NoError(t, d.Close())

	_, err = dial(t, server.URL+"/gpu/1", comfyui.Options{}).Identify(t.Context())
	require.Equal(t, fault.CodeServerDenied, fault.CodeOf(err))
}

// picture returns a prompt that needs no model.
func picture(t *testing.T) comfyui.Prompt {
	t.Helper()
	return comfyui.Prompt{ID: comfyui.NewPromptID(uuid.New()), Client: uuid.NewString(), Graph: json.RawMessage(`{
		"1":{"class_type":"EmptyImage","inputs":{"width":16,"height":16,"batch_size":1,"color":7}},
		"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"p"}}}`)}
}

// sampled returns a prompt with a sampler of the given number of steps.
func sampled(t *testing.T, steps int) comfyui.Prompt {
	t.Helper()
	p := picture(t)
	graph := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(`{
		"1":{"class_type":"CheckpointLoaderSimple","inputs":{"ckpt_name":"random-sd15.safetensors"}},
		"2":{"class_type":"CLIPTextEncode","inputs":{"text":"","clip":["1",1]}},
		"4":{"class_type":"EmptyLatentImage","inputs":{"width":64,"height":64,"batch_size":1}},
		"5":{"class_type":"KSampler","inputs":{"model":["1",0],"positive":["2",0],"negative":["2",0],"latent_image":["4",0],
			"seed":1,"cfg":7,"sampler_name":"euler","scheduler":"normal","denoise":1}},
		"6":{"class_type":"VAEDecode","inputs":{"samples":["5",0],"vae":["1",2]}},
		"7":{"class_type":"SaveImage","inputs":{"images":["6",0],"filename_prefix":"s"}}}`), &graph))
	graph["5"].(map[string]any)["inputs"].(map[string]any)["steps"] = steps
	var err error
	p.Graph, err = json.Marshal(graph)
	require.NoError(t, err)
	return p
}

func TestUnknownOutcomeOfASubmissionIsLookedUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault sim.Fault
		code  fault.Code
	}{"ServerError": {sim.AcceptAndFail, fault.CodeServerError}, "BrokenConnection": {sim.AcceptAndDrop, fault.CodeServerLost}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine(t, sim.Options{})
			client := dial(t, m.URL(), comfyui.Options{})
			m.Inject(c.fault, 1)
			p := picture(t)
			_, err := client.Submit(t.Context(), p)
			require.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			require.Equal(t, comfyui.Completed, end(t, client, p.ID).Status)
			require.Len(t, m.Runs(), 1)
		})
	}
}

// end waits until a prompt has ended.
func end(t *testing.T, c *comfyui.Client, id comfyui.PromptID) comfyui.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		state, err := c.Find(ctx, id)
		require.NoError(t, err)
		if state.Status.Ended() {
			return state
		}
		<-ticker.C
	}
}

func TestErrorsOfASampler(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{})
	run := func(f sim.Fault) *comfyui.ExecutionError {
		m.Inject(f, 1)
		p := sampled(t, 1)
		_, err := c.Submit(t.Context(), p)
		require.NoError(t, err)
		state := end(t, c, p.ID)
		require.Equal(t, comfyui.Failed, state.Status)
		return state.Outcome.Err
	}
	require.True(t, run(sim.OutOfMemory).OutOfMemory())
	raised := run(sim.Raise)
	require.False(t, raised.OutOfMemory())
	require.Contains(t, raised.Message+strings.Join(raised.Traceback, ""), "/home/somebody")
	public := comfyui.WithoutPaths(raised.Message)
	require.NotContains(t, public+comfyui.WithoutPaths(strings.Join(raised.Traceback, "")), "somebody")
	require.Contains(t, public, "cannot read models/checkpoints/broken.safetensors")
}

func TestPathsOfTheMachineAreRemoved(t *testing.T) {
	t.Parallel()
	for given, wanted := range map[string]string{
		`  File "/home/me/My ComfyUI/custom_nodes/pack/node.py", line 3, in run`: `  File "custom_nodes/pack/node.py", line 3, in run`,
		`  File "C:\Users\me\ComfyUI\execution.py", line 5`:                      `  File "execution.py", line 5`,
		`[Errno 2] No such file: '/data/secret/x.png'`:                           `[Errno 2] No such file: 'x.png'`,
		`cannot open /opt/v/lib/python3.11/site-packages/torch/a.so, giving up`:  `cannot open site-packages/torch/a.so, giving up`,
		`file:///home/bob/x.png`:                                                 `file://x.png`,
		`in /usr/lib:/home/bob/y`:                                                `in lib:y`,
		`C:\Users\John Doe\ComfyUI\a.png is missing`:                             `a.png is missing`,
		`see https://pytorch.org/docs/stable and try 3/4 of 16 / 2`:              `see https://pytorch.org/docs/stable and try 3/4 of 16 / 2`,
		`get http://127.0.0.1:8188/view/a/b.png?from=/x/y failed`:                `get http://127.0.0.1:8188/view/a/b.png?from=/x/y failed`,
		`mat1 and mat2 shapes cannot be multiplied (77x768 and 1024x320)`: `mat1 and mat2 shapes cannot be multiplied (77x768 ` +
			`and 1024x320)`,
	} {
		require.Equal(t, wanted, comfyui.WithoutPaths(given))
	}
}

// A text that an account chooses, such as a file name, does not make a failure that of the machine.
func TestFailuresOfMachinesAreRecognised(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, message string
		disk, device  bool
	}{
		{"OSError", "[Errno 28] No space left on device: '/x/a.png'", true, false},
		{"OSError", "[Errno 30] Read-only file system", true, false},
		{"OSError", "[Errno 36] File name too long: '[errno 28] no space left on device'", false, false},
		{"FileNotFoundError", "[Errno 2] No such file or directory: 'cuda error.png'", false, false},
		{"ValueError", "CUDA error: a text", false, false},
		{"RuntimeError", "CUDA error: device-side assert triggered", false, true},
		{"torch.AcceleratorError", "HIP error: unspecified launch failure", false, true},
		{"RuntimeError", "cannot open 'CUDA error'", false, false},
		{"torch.OutOfMemoryError", "CUDA error: out of memory", false, false},
	} {
		e := &comfyui.ExecutionError{Type: c.kind, Message: c.message}
		require.Equal(t, c.disk, e.DiskFailed(), c)
		require.Equal(t, c.device, e.DeviceFailed(), c)
	}
}

func TestInconsistentFilesAreErrors(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{MaxUpload: 4096})
	c := dial(t, m.URL(), comfyui.Options{})
	stored, err := c.Put(t.Context(), comfyui.Upload{Name: "a.bin", Size: 1000, Body: strings.NewReader(strings.Repeat("a", 1000))})
	require.NoError(t, err)

	m.Inject(sim.HalfFile, 1)
	d, err := c.Fetch(t.Context(), stored, 1000)
	require.NoError(t, err)
	_, err = io.ReadAll(d)
	require.Equal(t, fault.CodeServerLost, fault.CodeOf(err), "%v", err)
	require.NoError(t, d.Close())

	m.Inject(sim.LostFile, 1)
	_, err = c.Fetch(t.Context(), stored, 1000)
	require.Equal(t, fault.CodeServerFileNotFound, fault.CodeOf(err))

	_, err = c.Put(t.Context(), comfyui.Upload{Name: "b.bin", Size: 8192, Body: strings.NewReader(strings.Repeat("a", 8192))})
	require.Equal(t, fault.CodeTooLarge, fault.CodeOf(err), "%v", err)
}

func TestFileWithoutAnnouncedSizeIsBounded(t *testing.T) {
	t.Parallel()
	c := answering(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			io.WriteString(w, strings.Repeat("x", 100)) // fails, because the client closes the connection
			http.NewResponseController(w).Flush()       // as above
		}
	})
	d, err := c.Fetch(t.Context(), comfyui.File{Name: "a", Type: comfyui.FolderOutput}, 950)
	require.NoError(t, err)
	require.EqualValues(t, -1, d.Size)
	raw, err := io.ReadAll(d)
	require.Equal(t, fault.CodeTooLarge, fault.CodeOf(err))
	require.Len(t, raw, 950)
	require.NoError(t, d.Close())
}

func TestStalledTransferEnds(t *testing.T) {
	t.Parallel()
	c := answering(t, silence, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")             // shows in the test
		http.NewResponseController(w).Flush() // as above
		<-r.Context().Done()
	})
	d, err := c.Fetch(t.Context(), comfyui.File{Name: "a", Type: comfyui.FolderOutput}, 950)
	require.NoError(t, err)
	_, err = io.ReadAll(d)
	require.Equal(t, fault.CodeServerLost, fault.CodeOf(err), "%v", err)
	require.NoError(t, d.Close())
}

func TestUnsafeNameOfAnOutputIsRefused(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{})
	m.Inject(sim.UnsafeName, 1)
	p := picture(t)
	f := follow(t, c, p.Client)
	_, err := c.Submit(t.Context(), p)
	require.NoError(t, err)
	var files []comfyui.File
	for event := range f {
		if executed, ok := event.(comfyui.Executed); ok {
			files = append(files, executed.Output.Files...)
			require.Equal(t, fault.CodeUnsafeName, fault.CodeOf(executed.Output.Err))
		}
		if _, ok := event.(comfyui.Finished); ok {
			break
		}
	}
	require.Empty(t, files)
	state, err := c.Find(t.Context(), p.ID)
	require.NoError(t, err)
	for _, out := range state.Outcome.Outputs {
		require.Equal(t, fault.CodeUnsafeName, fault.CodeOf(out.Err), "%v", out.Err)
		require.Empty(t, out.Files)
	}
}

// follow delivers the events of a client until the test ends.
func follow(t *testing.T, c *comfyui.Client, name string) <-chan comfyui.Event {
	t.Helper()
	events := make(chan comfyui.Event, 10_000)
	connected := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Follow(ctx, name, func(e comfyui.Event) error {
			if _, ok := e.(comfyui.Connected); ok {
				select {
				case connected <- struct{}{}:
				default:
				}
			}
			events <- e
			return nil
		})
		close(events)
	}()
	t.Cleanup(func() { stop(); <-ended })
	<-connected
	return events
}

// next returns the next event of a type.
func next[E comfyui.Event](t *testing.T, events <-chan comfyui.Event) E {
	t.Helper()
	for event := range events {
		if wanted, ok := event.(E); ok {
			return wanted
		}
	}
	var none E
	require.FailNow(t, "the events ended", "before a %T", none)
	return none
}

func TestKilledServerIsDetectedAtOnceAndFollowedAgain(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{Step: step})
	c := dial(t, m.URL(), comfyui.Options{})
	p := sampled(t, 1000)
	events := follow(t, c, p.Client)
	_, err := c.Submit(t.Context(), p)
	require.NoError(t, err)
	next[comfyui.Progressed](t, events)
	m.Kill()
	broken := next[comfyui.Disconnected](t, events)
	require.Equal(t, fault.CodeServerLost, fault.CodeOf(broken.Err), "the end of the socket is seen, no silence is waited for")

	require.NoError(t, m.Restart())
	require.Equal(t, comfyui.Connected{Reconnected: true}, next[comfyui.Connected](t, events))
	state, err := c.Find(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, comfyui.Unknown, state.Status, "a server remembers nothing across a restart")
	require.Equal(t, "lost", m.Runs()[0].Outcome)
}

func TestServerThatHangsIsSilent(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{Silence: silence, Timeout: silence})
	var broken []error
	err := c.Follow(t.Context(), "me", func(e comfyui.Event) error {
		switch e := e.(type) {
		case comfyui.Connected:
			m.Freeze()
		case comfyui.Disconnected:
			broken = append(broken, e.Err)
		}
		return nil
	})
	require.Equal(t, fault.CodeServerSilent, fault.CodeOf(err), "%v", err)
	require.Len(t, broken, 1)
}

func TestServerThatAnswersPingsIsNotSilent(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{Silence: silence})
	ctx, cancel := context.WithTimeout(t.Context(), 4*silence)
	defer cancel()
	err := c.Follow(ctx, "me", func(e comfyui.Event) error {
		if broken, ok := e.(comfyui.Disconnected); ok {
			return broken.Err
		}
		return nil
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestPromptThatHangsIsRunning(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{})
	m.Inject(sim.Hang, 1)
	p := sampled(t, 1)
	events := follow(t, c, p.Client)
	_, err := c.Submit(t.Context(), p)
	require.NoError(t, err)
	for next[comfyui.Executing](t, events).Node != "5" {
	}
	state, err := c.Find(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, comfyui.Running, state.Status)
	m.Clear()
	next[comfyui.Finished](t, events)
}

func TestForgottenPromptIsUnknown(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{})
	m.Inject(sim.Forget, 1)
	p := picture(t)
	events := follow(t, c, p.Client)
	_, err := c.Submit(t.Context(), p)
	require.NoError(t, err)
	next[comfyui.Finished](t, events)
	state, err := c.Find(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, comfyui.Unknown, state.Status)
}

func TestMalformedAnswersAreErrors(t *testing.T) {
	t.Parallel()
	m := machine(t, sim.Options{})
	c := dial(t, m.URL(), comfyui.Options{})
	m.Inject(sim.Garbage, sim.Always)
	calls := map[string]func() error{
		"Classes": func() error { _, err := c.Classes(t.Context(), ""); return err },
		"Models":  func() error { _, err := c.Models(t.Context()); return err },
		"Queue":   func() error { _, err := c.Queue(t.Context()); return err },
		"Find":    func() error { _, err := c.Find(t.Context(), picture(t).ID); return err },
		"Submit":  func() error { _, err := c.Submit(t.Context(), picture(t)); return err },
		"Cancel":  func() error { _, err := c.Cancel(t.Context(), picture(t).ID); return err },
		"Put": func() error {
			_, err := c.Put(t.Context(), comfyui.Upload{Name: "a", Size: 1, Body: strings.NewReader("a")})
			return err
		},
		"Follow": func() error { return c.Follow(t.Context(), "me", func(comfyui.Event) error { return nil }) },
	}
	for name, call := range calls {
		require.Equal(t, fault.CodeServerGarbage, fault.CodeOf(call()), name)
	}
	m.Inject(sim.Garbage, 0)
	m.Inject(sim.Redirect, sim.Always)
	for name, call := range calls {
		require.Equal(t, fault.CodeServerRedirect, fault.CodeOf(call()), name)
	}
}

// A short answer may decode into a thousand times its size, so its values and its depth are counted while it arrives.
func TestAnswerWithTooManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nested too deep": strings.Repeat("[", 129) + strings.Repeat("]", 129),
		"many values":     `{"queue_running":[` + strings.Repeat("0,", 5<<20) + `0],"queue_pending":[]}`,
		"many objects":    `{"queue_running":[` + strings.Repeat("{},", 5<<20) + `{}],"queue_pending":[]}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer) // the client stops reading
		}))
		t.Cleanup(server.Close)
		_, err := dial(t, server.URL, comfyui.Options{}).Queue(t.Context())
		require.Equal(t, fault.CodeTooLarge, fault.CodeOf(err), "%s: %v", name, err)
	}
}
