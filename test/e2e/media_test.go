package e2e_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
)

// A sound and a video go up, through a graph and down again: as files of their own kind, and as outputs
// on both surfaces.
func TestSoundAndVideoGoThroughTheGraph(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed: apt-get install ffmpeg, or brew install ffmpeg")
	}
	c := newClient(t, "pro")
	files := nodetest.NewFiles()
	for _, name := range []string{nodetest.SoundName, nodetest.VideoName} {
		require.Equal(t, 200, c.upload(name, files.Saved[name]).status)
	}
	id := c.submit(`{
		"1":{"class_type":"LoadAudio","inputs":{"audio":"sound.wav"}},
		"2":{"class_type":"TrimAudioDuration","inputs":{"audio":["1",0],"start_index":0.1,"duration":0.3}},
		"3":{"class_type":"SaveAudioMP3","inputs":{"audio":["2",0],"filename_prefix":"audio/part","quality":"V0"}},
		"4":{"class_type":"LoadVideo","inputs":{"file":"video.gif"}},
		"5":{"class_type":"GetVideoComponents","inputs":{"video":["4",0]}},
		"6":{"class_type":"ImageInvert","inputs":{"image":["5",0]}},
		"7":{"class_type":"CreateVideo","inputs":{"images":["6",0],"fps":["5",2],"audio":["2",0]}},
		"8":{"class_type":"SaveVideo","inputs":{"video":["7",0],"filename_prefix":"video/inverted","format":"auto","codec":"auto"}}}`)
	c.await(id, "completed")

	var history map[string]struct {
		Outputs map[string]map[string][]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(c.do("GET", "/api/history/"+id, "").body), &history))
	outputs := history[id].Outputs
	require.JSONEq(t, `{"filename":"part_00001.mp3","subfolder":"audio","type":"output"}`, string(outputs["3"]["audio"][0]))
	require.JSONEq(t, `{"filename":"inverted_00001_.mp4","subfolder":"video","type":"output"}`, string(outputs["8"]["images"][0]))
	for query, want := range map[string]string{
		"filename=part_00001.mp3&subfolder=audio":      "audio/mpeg",
		"filename=inverted_00001_.mp4&subfolder=video": "video/mp4",
	} {
		r := c.do("GET", "/api/view?type=output&"+query, "")
		require.Equal(t, 302, r.status, query)
		r = c.do("GET", r.header.Get("Location"), "")
		require.Equal(t, 200, r.status, query)
		require.Equal(t, want, r.header.Get("Content-Type"))
	}
	shown := c.do("GET", "/api/v2/jobs/"+id, "").body
	require.Contains(t, shown, "inverted_00001_.mp4")
	require.Contains(t, shown, "part_00001.mp3")

	r := c.do("POST", "/api/prompt", `{"prompt":{"1":{"class_type":"LoadAudio","inputs":{"audio":"none.wav"}},
		"2":{"class_type":"PreviewAudio","inputs":{"audio":["1",0]}}}}`, "Content-Type", "application/json")
	require.Equal(t, 400, r.status)
	require.Contains(t, r.body, "Invalid audio file: none.wav")
}
