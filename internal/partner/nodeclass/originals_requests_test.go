package nodeclass_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// asking is a run of a class, and the request that its model gets for it.
type asking struct {
	class       string
	args        node.Args
	model, want string
}

// inline matches the base64 of a file.
var inline = regexp.MustCompile(`[A-Za-z0-9+/]{60,}=*`)

// shortened returns a request in which a dash stands for the base64 of each file.
func shortened(body []byte) string { return inline.ReplaceAllString(string(body), "-") }

// askingsWithFiles are runs with pictures, sounds and videos, and those of classes that take them.
func askingsWithFiles(t *testing.T) []asking {
	t.Helper()
	picture, err := raster.Engine{}.Solid(t.Context(), 1, 400, 400, []uint8{255, 0, 0})
	require.NoError(t, err)
	sound, err := media.NewSound(8000, [][]float32{make([]float32, 8000)})
	require.NoError(t, err)
	clip := &media.Video{File: nodetest.VideoName}
	return append(askingsForText(picture, sound, clip), append(askingsForVideos(picture, sound, clip), askingsForSounds(picture, sound)...)...)
}

func askingsForText(picture *raster.Image, sound *media.Sound, clip *media.Video) []asking {
	return []asking{
		{
			"GeminiNode",
			node.Args{"prompt": "a", "model": "gemini-3-1-pro", "seed": int64(1), "images": picture, "video": clip, "system_prompt": "b"},
			"google/gemini-3.1-pro-preview", `{"contents":[{"role":"user","parts":[{"text":"a"},` +
				`{"inlineData":{"mimeType":"image/png","data":"-"}},` +
				`{"inlineData":{"mimeType":"image/gif","data":"-"}}]}],"systemInstruction":{"parts":[{"text":"b"}]}}`,
		},
		{
			"GeminiNodeV2",
			node.Args{
				"prompt": "a", "model": "Gemini 3.1 Flash-Lite", "model.thinking_level": "LOW", "model.temperature": 0.5, "model.top_p": 0.9,
				"model.max_output_tokens": int64(100), "model.audio.audio_1": sound, "seed": int64(0),
			},
			"google/gemini-3.1-flash-lite", `{"contents":[{"role":"user","parts":[{"text":"a"},` +
				`{"inlineData":{"mimeType":"audio/mpeg","data":"-"}}]}],` +
				`"generationConfig":{"temperature":0.5,"topP":0.9,"maxOutputTokens":100,"thinkingConfig":{"thinkingLevel":"LOW"}}}`,
		},
		{
			"ByteDanceSeedNode",
			node.Args{
				"prompt": "a", "model": "Seed 2.0 Mini", "model.temperature": 1.0, "model.images.image_1": picture, "model.videos.video_1": clip,
				"seed": int64(0), "system_prompt": "",
			},
			"byteplus/seed-2-0", `{"model":"seed-2-0-mini-260215","input":[{"type":"message","role":"user","content":[` +
				`{"type":"input_image","image_url":"data:image/png;base64,-","detail":"auto"},{"type":"input_video",` +
				`"video_url":"data:image/gif;base64,-"},` +
				`{"type":"input_text","text":"a"}]}],"temperature":1,"store":false,"stream":false}`,
		},
		{
			"MinimaxHailuo03ContextIRNode",
			node.Args{"model": "MiniMax H3", "model.prompt": "a", "model.duration": int64(5), "model.ratio": "adaptive", "last_frame": picture},
			"minimax/h3-context-ir", `{"model":"MiniMax-H3","content":[{"type":"text","text":"a"},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,-"},"role":"last_frame"}],"duration":5}`,
		},
		{
			"ElevenLabsSpeechToText",
			node.Args{
				"audio": sound, "model": "scribe_v2", "model.tag_audio_events": true, "model.diarize": true, "model.diarization_threshold": 0.3,
				"model.temperature": 0.0, "model.timestamps_granularity": "word", "language_code": " ", "num_speakers": int64(0), "seed": int64(1),
			},
			"elevenlabs/speech-to-text", `{"model_id":"scribe_v2","file":"data:audio/mpeg;base64,-","tag_audio_events":true,"diarize":true,` +
				`"diarization_threshold":0.3,"temperature":0,"timestamps_granularity":"word","seed":1}`,
		},
		{
			"FishAudioSpeechToText",
			node.Args{"audio": sound, "language": "de", "precise_timestamps": true},
			"fishaudio/asr", `{"audio":"data:audio/mpeg;base64,-","language":"de","ignore_timestamps":false}`,
		},
	}
}

func askingsForVideos(picture *raster.Image, sound *media.Sound, clip *media.Video) []asking {
	h3 := node.Args{
		"model": "MiniMax H3", "model.prompt": "a", "model.resolution": "2K", "model.ratio": "1:1", "model.duration": int64(4),
		"seed": int64(1), "watermark": false,
	}
	with := func(more node.Args) node.Args {
		args := node.Args{}
		for _, some := range []node.Args{h3, more} {
			for name, value := range some {
				args[name] = value
			}
		}
		return args
	}
	return []asking{
		{
			"GeminiVideoOmni",
			node.Args{
				"model": "Omni Flash", "model.prompt": "a", "model.images.image_1": picture, "model.videos.video_1": clip,
				"model.temperature": 1.0, "model.top_p": 0.95, "seed": int64(1),
			},
			"google/gemini-omni-1.1-flash", `{"model":"gemini-omni-1.1-flash","input":[{"type":"video","data":"-","mime_type":"image/gif"},` +
				`{"type":"image","data":"-","mime_type":"image/png"},{"type":"text","text":"a"}],"generation_config":{"temperature":1,"top_p":0.95}}`,
		},
		{
			"LtxApi25AudioToVideo",
			node.Args{"audio": sound, "model": "LTX-2.5 (Pro)", "model.resolution": "1080x1920", "prompt": "a", "seed": int64(1), "image": picture},
			"ltx/ltx-2-5-audio-to-video", `{"prompt":"a","model":"ltx-2-5-pro","resolution":"1080x1920","audio_uri":"data:audio/mpeg;base64,-",` +
				`"image_uri":"data:image/png;base64,-"}`,
		},
		{
			"MinimaxHailuo03TextToVideoNode", h3, "minimax/h3",
			`{"model":"MiniMax-H3","content":[{"type":"text","text":"a"}],"resolution":"2K","duration":4,"ratio":"1:1",` +
				`"seed":1,"aigc_watermark":false}`,
		},
		{
			"MinimaxHailuo03FirstLastFrameNode", with(node.Args{"model.ratio": nil, "first_frame": picture, "last_frame": picture}), "minimax/h3",
			`{"model":"MiniMax-H3","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,-"},` +
				`"role":"first_frame"},{"type":"image_url","image_url":{"url":"data:image/png;base64,-"},"role":"last_frame"}],"resolution":"2K",` +
				`"duration":4,"seed":1,"aigc_watermark":false}`,
		},
		{
			"MinimaxHailuo03ReferenceNode",
			with(node.Args{
				"model.reference_images.image_2": picture, "model.reference_videos.video_1": clip, "model.reference_audios.audio_1": sound,
			}),
			"minimax/h3", `{"model":"MiniMax-H3","content":[{"type":"text","text":"a"},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,-"},"role":"reference_image"},` +
				`{"type":"video_url","video_url":{"url":"data:image/gif;base64,-"},"role":"reference_video"},` +
				`{"type":"audio_url","audio_url":{"url":"data:audio/mpeg;base64,-"},"role":"reference_audio"}],"resolution":"2K","duration":4,` +
				`"ratio":"1:1","seed":1,"aigc_watermark":false}`,
		},
		{
			"MinimaxHailuo03RegenerateNode",
			node.Args{
				"model": "MiniMax H3", "model.prompt": "a", "model.resolution": "2K", "video": clip, "watermark": true, "first_frame": picture,
			},
			"minimax/h3-regeneration", `{"model":"MiniMax-H3","content":[{"type":"text","text":"a"},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,-"},"role":"first_frame"},` +
				`{"type":"video_url","video_url":{"url":"data:image/gif;base64,-"},"role":"base_video"}],"resolution":"2K","aigc_watermark":true}`,
		},
		{
			"SyncLipSyncNode",
			node.Args{
				"video": clip, "audio": sound, "seed": int64(1), "model": "sync-3", "model.sync_mode": "loop", "model.speaker_selection": "coordinates",
				"model.speaker_frame": int64(2), "model.speaker_x": int64(3), "model.speaker_y": int64(4),
			},
			"sync/lipsync", `{"model":"sync-3","video":"data:image/gif;base64,-","audio":"data:audio/mpeg;base64,-",` +
				`"options":{"sync_mode":"loop","active_speaker_detection":{"frame_number":2,"coordinates":[3,4]}}}`,
		},
		{
			"WavespeedFlashVSRNode",
			node.Args{"video": clip, "target_resolution": "4K"},
			"wavespeed/flashvsr", `{"video":"data:image/gif;base64,-","target_resolution":"4k"}`,
		},
		{
			"HeyGenAvatarVideoNode",
			node.Args{
				"engine": "auto", "engine.avatar": "Luca", "speech": "script", "speech.text": "a", "speech.voice": "Mark (English, male)",
				"speech.custom_voice_id": "", "speech.voice_speed": 1.25, "resolution": "720p", "aspect_ratio": "9:16", "background_color": " #00ff00",
			},
			"heygen/avatar-video", `{"type":"avatar","avatar_id":"Luca_public","script":"a","voice_id":"5d8c378ba8c3434586081a52ac368738",` +
				`"voice_settings":{"speed":1.25},"engine":{"type":"avatar_iii"},"resolution":"720p","aspect_ratio":"9:16",` +
				`"background":{"type":"color","value":"#00ff00"},"title":"ComfyUI Avatar Video"}`,
		},
		{
			"WavespeedImageUpscaleNode",
			node.Args{"model": "Ultimate", "image": picture, "target_resolution": "8K"},
			"wavespeed/ultimate-image-upscaler", `{"image":"data:image/png;base64,-","target_resolution":"8k","output_format":"png",` +
				`"enable_sync_mode":false}`,
		},
		{
			"TopazImageEnhance",
			node.Args{"model": "Reimagine", "image": picture, "prompt": "", "output_width": int64(800), "output_height": int64(0)},
			"topaz/enhance-gen", `{"model":"Reimagine","image":"data:image/png;base64,-","output_format":"png",` +
				`"output_width":800,"crop_to_fill":false,` +
				`"creativity":3,"subject_detection":"All","face_enhancement":true,"face_enhancement_creativity":0,"face_enhancement_strength":0.8,` +
				`"face_preservation":"true","color_preservation":"true"}`,
		},
		{
			"TopazImageEnhanceV2",
			node.Args{
				"image": picture, "model": "Bloom 2", "model.prompt": " ", "model.creativity": int64(4), "model.seed": int64(2),
				"model.color_preservation": false, "model.grain": true, "model.grain_model": "grey", "model.grain_strength": 0.5,
				"model.grain_size": 1.0, "model.grain_density": 0.25,
			},
			"topaz/enhance-gen", `{"model":"Bloom 2","image":"data:image/png;base64,-","output_format":"png",` +
				`"autoprompt":"true","creativity":4,"seed":2,` +
				`"color_preservation":"false","grain":"true","grain_model":"grey","grain_strength":0.5,"grain_size":1,"grain_density":0.25}`,
		},
	}
}

func askingsForSounds(picture *raster.Image, sound *media.Sound) []asking {
	seed := node.Args{
		"text_prompt": "a", "sample_rate": "24000", "speech_rate": int64(0), "loudness_rate": int64(0), "pitch_rate": int64(1),
		"model": "seed-audio-1.0", "seed": int64(1),
	}
	referring := func(mode, name string, value node.Value) node.Args {
		args := node.Args{"reference_mode": mode, "reference_mode." + name: value}
		for name, value := range seed {
			args[name] = value
		}
		return args
	}
	referred := func(reference string) string {
		return `{"model":"seed-audio-1.0",` +
			`"text_prompt":"a","references":[` + reference + `],"audio_config":{"format":"mp3","sample_rate":24000,` +
			`"speech_rate":0,"loudness_rate":0,"pitch_rate":1},"watermark":{}}`
	}
	return []asking{
		{
			"ByteDanceSeedAudio", referring("preset voice", "preset_voice", "Tim (Male, English)"),
			"byteplus_speech/seed-audio-1.0", referred(`{"speaker":"en_male_tim_uranus_bigtts"}`),
		},
		{
			"ByteDanceSeedAudio", referring("audio reference", "reference_audio_1", sound),
			"byteplus_speech/seed-audio-1.0", referred(`{"audio_data":"-"}`),
		},
		{
			"ByteDanceSeedAudio", referring("image reference", "reference_image", picture),
			"byteplus_speech/seed-audio-1.0", referred(`{"image_data":"-"}`),
		},
		{"ElevenLabsAudioIsolation", node.Args{"audio": sound}, "elevenlabs/audio-isolation", `{"audio":"data:audio/mpeg;base64,-"}`},
		{
			"FishAudioTextToSpeech",
			node.Args{
				"text": "a", "model": "s1", "model.temperature": 0.7, "model.top_p": 0.6, "model.speed": 1.5, "model.volume": 0.0,
				"model.normalize": true, "seed": int64(1),
			},
			"fishaudio/s1", `{"text":"a","temperature":0.7,"top_p":0.6,"prosody":{"speed":1.5,"volume":0},"normalize":true,"format":"wav"}`,
		},
		{
			"HeyGenTextToSpeechNode",
			node.Args{"text": "a", "voice": "Aria (English, female)", "speed": 1.0, "ssml": true, "custom_voice_id": ""},
			"heygen/speech", `{"text":"a","voice_id":"007e1378fc454a9f976db570ba6164a7","speed":1,"input_type":"ssml"}`,
		},
	}
}

// Inputs that a provider's API cannot take end a run before its model is called.
func TestOriginalNodesRefuseWhatTheirModelsCannotTake(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	picture, err := raster.Engine{}.Solid(t.Context(), 1, 8, 8, []uint8{255, 0, 0})
	require.NoError(t, err)
	two, err := raster.Engine{}.Solid(t.Context(), 2, 8, 8, []uint8{255, 0, 0})
	require.NoError(t, err)
	sound, err := media.NewSound(8000, [][]float32{make([]float32, 8000)})
	require.NoError(t, err)
	for _, c := range []struct {
		class string
		args  node.Args
		says  string
	}{
		{"GeminiNode", node.Args{"prompt": "a", "model": "gemini-3-1-pro", "files": "f"}, "takes no files"},
		{"GeminiNodeV2", node.Args{"prompt": "a", "model": "Gemini 3.1 Pro", "model.files": "f", "seed": int64(1)}, "takes no files"},
		{"ByteDanceSeedAudio", node.Args{"text_prompt": "a", "reference_mode": "audio reference"}, "takes the first sound"},
		{
			"ByteDanceSeedAudio",
			node.Args{"text_prompt": "a", "reference_mode": "image reference", "reference_mode.reference_image": picture},
			"160,000 pixels",
		},
		{
			"MinimaxHailuo03ReferenceNode",
			node.Args{"model": "MiniMax H3", "model.reference_audios.audio_1": sound},
			"at least one picture or video",
		},
		{"MinimaxHailuo03ReferenceNode", node.Args{"model": "MiniMax H3", "model.reference_images.image_1": two}, "one frame of each picture"},
		{
			"MinimaxHailuo03ContextIRNode",
			node.Args{"model": "MiniMax H3", "model.ratio": "1:1", "first_frame": picture, "model.reference_images.image_1": picture},
			"frames or references",
		},
		{"MinimaxHailuo03ContextIRNode", node.Args{"model": "MiniMax H3", "model.ratio": "adaptive"}, "a ratio where there is neither"},
		{
			"MinimaxHailuo03RegenerateNode",
			node.Args{"model": "MiniMax H3", "first_frame": picture, "model.reference_images.image_1": picture},
			"takes frames or references",
		},
		{"TopazImageEnhance", node.Args{"model": "Reimagine", "image": two}, "takes one image"},
		{"WavespeedImageUpscaleNode", node.Args{"model": "SeedVR2", "image": two, "target_resolution": "2K"}, "takes one image"},
		{
			"ElevenLabsSpeechToText",
			node.Args{"audio": sound, "model": "scribe_v2", "model.diarize": true, "num_speakers": int64(2)},
			"takes no number of speakers",
		},
		{"FishAudioTextToSpeech", node.Args{"text": "a", "model": "s1", "model.voice": "v"}, "takes no voices"},
		{"HeyGenAvatarVideoNode", node.Args{"engine": "auto", "speech": "audio", "speech.audio": sound}, "takes a script here"},
		{"HeyGenAvatarVideoNode", node.Args{"engine": "auto", "speech": "script", "custom_avatar_id": "a"}, "an own avatar only with its engine"},
		{"HeyGenAvatarVideoNode", node.Args{"engine": "auto", "speech": "script", "background_color": "green"}, "a colour like #00ff00"},
	} {
		a := &asked{}
		_, err := classes[c.class].Run(t.Context(), &node.Call{Args: c.args, Models: a, Files: nodetest.NewFiles()})
		require.ErrorContains(t, err, c.says, c.class)
		require.Empty(t, a.model, c.class)
	}
}

// A list of an answer is the text of an output as JSON, as ComfyUI writes it, and null is no text.
func TestAnOriginalNodeWritesAListAsJSON(t *testing.T) {
	t.Parallel()
	_, classes := originals(t, func(*catalog.Model) bool { return true })
	sound, err := media.NewSound(8000, [][]float32{make([]float32, 8000)})
	require.NoError(t, err)
	for answer, want := range map[string][]node.Value{
		`{"text":"hello","language_code":"eng","words":[{"end":0.5,"text":"hello"}]}`: {
			"hello", "eng", "[\n  {\n    \"end\": 0.5,\n    \"text\": \"hello\"\n  }\n]",
		},
		`{"text":"hello","language_code":null,"words":null}`: {"hello", "", ""},
	} {
		res, err := classes["ElevenLabsSpeechToText"].Run(t.Context(), &node.Call{
			NodeID: "1", Files: nodetest.NewFiles(),
			Args:   node.Args{"audio": sound, "model": "scribe_v2", "language_code": "", "num_speakers": int64(0)},
			Models: &answers{contentType: "application/json", text: answer},
		})
		require.NoError(t, err)
		require.Equal(t, want, res.Outputs)
	}
}
