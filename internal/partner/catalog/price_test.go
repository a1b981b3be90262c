package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// bill is a call and its price by the provider's price list, in millionths of a US dollar.
type bill struct {
	body     string
	low      int64
	high     int64  // equal to low if the price is exact
	answer   string // the provider's answer; "" = bytes, or an answer without a price
	headers  map[string]string
	accepted string // the answer to the submission
	settled  int64
}

// exactly returns a bill whose price is known beforehand and is not part of the answer.
func exactly(body string, price int64) bill {
	return bill{body: body, low: price, high: price, settled: price}
}

// The examples come from the providers' price lists (docs/providers.md).
func TestPricesAreThoseOfTheProvidersLists(t *testing.T) {
	t.Parallel()
	models := builtin(t)
	for _, m := range models.Models() {
		want, listed := examplePrices()[m.ID]
		require.True(t, m.Provider == "sim" || len(bills()[m.ID]) > 0 || listed, "%s has no example of its price", m.ID)
		if price := m.Price(m.Example); listed {
			require.Equal(t, want, [2]int64{price.Min, price.Max}, m.ID)
		}
	}
	for id, bills := range bills() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			m, ok := models.Find(id)
			require.True(t, ok)
			for _, b := range bills {
				require.Empty(t, m.Validate([]byte(b.body)), b.body)
				price := m.Price([]byte(b.body))
				require.Equal(t, [2]int64{b.low, b.high}, [2]int64{price.Min, price.Max}, b.body)
				require.Equal(t, b.settled, settled(t, m, b), "%s answered %s", b.body, b.answer)
			}
		})
	}
}

func settled(t *testing.T, m *catalog.Model, b bill) int64 {
	t.Helper()
	quoted := m.Quoted([]byte(b.body), decoded(t, b.accepted))
	return m.Settled(catalog.Answer{Body: []byte(b.body), Document: decoded(t, b.answer), Headers: b.headers, Quoted: quoted})
}

func decoded(t *testing.T, document string) any {
	t.Helper()
	if document == "" {
		return nil
	}
	var value any
	require.NoError(t, json.Unmarshal([]byte(document), &value))
	return value
}

func bills() map[string][]bill {
	return map[string][]bill{
		"bfl/flux-2-pro": {
			{
				body: `{"prompt":"x","width":1024,"height":1024}`, low: 30_000, high: 30_000, accepted: `{"cost":3.0,"output_mp":1.0}`,
				answer: `{"status":"Ready"}`, settled: 30_000,
			},
			{
				body: `{"prompt":"x","width":1920,"height":1080}`, low: 45_000, high: 45_000, accepted: `{"cost":4.5,"output_mp":1.98}`,
				answer: `{"status":"Ready"}`, settled: 45_000,
			},
			{body: `{"prompt":"x","width":2048,"height":2048}`, low: 75_000, high: 75_000, settled: 75_000},
			{body: `{"prompt":"x"}`, low: 30_000, high: 75_000, accepted: `{"cost":3.0}`, answer: `{"status":"Ready"}`, settled: 30_000},
			{body: `{"prompt":"x","input_image":"a"}`, low: 30_000, high: 135_000, accepted: `{"cost":4.5}`, answer: `{"cost":6}`, settled: 60_000},
		},
		"bfl/flux-3-video": {
			{body: `{"mode":"t2v","prompt":"x","duration":5}`, low: 850_000, high: 850_000, accepted: `{"cost":85}`, settled: 850_000},
			{body: `{"mode":"t2v","prompt":"x","duration":10,"resolution":"fhd"}`, low: 2_900_000, high: 2_900_000, settled: 2_900_000},
			{
				body: `{"mode":"v2v","prompt":"x","video":"a","duration":5}`, low: 850_000, high: 2_050_000, accepted: `{"cost":205}`,
				settled: 2_050_000,
			},
			{body: `{"mode":"t2v","prompt":"x","duration":"auto"}`, low: 850_000, high: 3_400_000, accepted: `{"cost":136}`, settled: 1_360_000},
		},
		"byteplus/seedance-1-0-pro-250528": {
			{ // five seconds of 1080p
				body: `{"model":"seedance-1-0-pro-250528","content":[{"type":"text","text":"x"}]}`, low: 23_888, high: 620_125,
				answer: `{"usage":{"completion_tokens":246840}}`, settled: 617_100,
			},
			{ // half the price
				body: `{"model":"seedance-1-0-pro-250528","content":[{"type":"text","text":"x"}],"service_tier":"flex"}`, low: 23_888, high: 310_063,
				answer: `{"usage":{"completion_tokens":246840}}`, settled: 308_550,
			},
			{ // the text names a length of its own
				body: `{"model":"seedance-1-0-pro-250528","content":[{"type":"text","text":"x --dur 12"}],"duration":2}`, low: 23_888, high: 1_481_125,
				answer: `{"usage":{"completion_tokens":589560}}`, settled: 1_473_900,
			},
		},
		"elevenlabs/sound-generation": {
			{
				body: `{"text":"x","duration_seconds":10}`, low: 20_000, high: 20_000, headers: map[string]string{"character-cost": "200"},
				settled: 20_000,
			},
			{body: `{"text":"x"}`, low: 1_000, high: 60_000, headers: map[string]string{"character-cost": "100"}, settled: 10_000},
			{body: `{"text":"x"}`, low: 1_000, high: 60_000, settled: 60_000},
		},
		"elevenlabs/text-to-dialogue": {
			{
				body: `{"inputs":[{"text":"0123456789","voice_id":"v"}]}`, low: 1_000, high: 1_000, headers: map[string]string{"character-cost": "20"},
				settled: 2_000,
			},
			exactly(`{"inputs":[{"text":"éü","voice_id":"v"}]}`, 200),
		},
		"fal/flux-schnell": {
			exactly(`{"prompt":"x","image_size":"square_hd"}`, 3_000),
			exactly(`{"prompt":"x","image_size":{"width":2048,"height":1024},"num_images":2}`, 12_000),
			{ // fewer than asked for
				body: `{"prompt":"x","num_images":4}`, low: 12_000, high: 12_000, answer: `{"images":[{"url":"a","width":1024,"height":768}]}`,
				settled: 3_000,
			},
			{body: `{"prompt":"x","image_size":{"width":1024}}`, low: 3_000, high: 3_000, answer: `{"images":[{"url":"a"}]}`, settled: 3_000},
		},
		"fal/flux-2-pro": {
			exactly(`{"prompt":"x","image_size":{"width":1024,"height":1024}}`, 30_000),
			{
				body: `{"prompt":"x","image_size":{"width":1920,"height":1080}}`, low: 45_000, high: 45_000,
				answer: `{"images":[{"url":"a","width":1920,"height":1080}]}`, settled: 45_000,
			},
		},
		"google/gemini-3.1-flash-image": {
			{
				body: `{"contents":[{"parts":[{"text":"x"}]}]}`, low: 67_200, high: 184_400,
				answer: `{"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":1220,"thoughtsTokenCount":300,` +
					`"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":1120},{"modality":"TEXT","tokenCount":100}]}}`,
				settled: 67_200 + 100*3 + 300*3 + 50,
			},
			{ // the answer does not count pictures and text separately
				body: `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"imageConfig":{"imageSize":"4K"}}}`, low: 151_200, high: 352_400,
				answer: `{"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":2520}}`, settled: 151_201,
			},
			{ // the result is text only
				body: `{"contents":[{"parts":[{"text":"x"}]}]}`, low: 67_200, high: 184_400,
				answer: `{"usageMetadata":{"promptTokenCount":0,"candidatesTokenCount":100,"candidatesTokensDetails":[{"modality":"TEXT",` +
					`"tokenCount":100}]}}`, settled: 300,
			},
			{
				body: `{"contents":[{"parts":[{"text":"x"}]}]}`, low: 67_200, high: 184_400, answer: `{"usageMetadata":{"promptTokenCount":9}}`,
				settled: 184_400,
			},
		},
		"google/gemini-3-pro-image": {{
			body: `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"imageConfig":{"imageSize":"4K"}}}`, low: 240_000, high: 580_000,
			answer: `{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2000,"thoughtsTokenCount":100}}`, settled: 240_000 + 1_200 + 20,
		}},
		"kling/kling-v3-text2video": {
			exactly(`{"model_name":"kling-v3","prompt":"x"}`, 420_000),
			exactly(`{"model_name":"kling-v3","prompt":"x","mode":"pro","sound":"on","duration":"10"}`, 1_680_000),
			{
				body: `{"model_name":"kling-v3","prompt":"x","duration":"15"}`, low: 1_260_000, high: 1_260_000,
				answer: `{"data":{"final_unit_deduction":"9"}}`, settled: 1_260_000,
			},
		},
		"kling/kling-v3-image2video":  {exactly(`{"model_name":"kling-v3","image":"x","mode":"std","sound":"on"}`, 630_000)},
		"kling/kling-v2-6-text2video": {exactly(`{"model_name":"kling-v2-6","prompt":"x","mode":"pro","sound":"on"}`, 700_000)},
		"kling/kling-v2-6-image2video": {
			exactly(`{"model_name":"kling-v2-6","image":"x","mode":"pro"}`, 350_000),
			exactly(`{"model_name":"kling-v2-6","image":"x","mode":"pro","duration":"10","sound":"on"}`, 1_400_000),
		},
		"kling/kling-v2-5-turbo-text2video": {
			exactly(`{"model_name":"kling-v2-5-turbo","prompt":"x","mode":"pro"}`, 350_000),
			{
				body: `{"model_name":"kling-v2-5-turbo","prompt":"x","mode":"pro","duration":"10"}`, low: 700_000, high: 700_000,
				answer: `{"data":{"final_unit_deduction":"2.5"}}`, settled: 350_000,
			},
		},
		"kling/kling-v2-5-turbo-image2video": {exactly(`{"model_name":"kling-v2-5-turbo","image":"x","mode":"pro","duration":"10"}`, 700_000)},
		"byteplus/seedream-3-0-t2i-250415":   {exactly(`{"model":"seedream-3-0-t2i-250415","prompt":"x"}`, 30_000)},
		"minimax/t2v-01":                     {exactly(`{"model":"T2V-01-Director","prompt":"x"}`, 430_000)},
		"minimax/i2v-01":                     {exactly(`{"model":"I2V-01","first_frame_image":"x"}`, 430_000)},
		"minimax/hailuo-02": {
			exactly(`{"model":"MiniMax-Hailuo-02","prompt":"x"}`, 280_000),
			exactly(`{"model":"MiniMax-Hailuo-02","prompt":"x","duration":10}`, 560_000),
			exactly(`{"model":"MiniMax-Hailuo-02","prompt":"x","resolution":"1080P"}`, 490_000),
			exactly(`{"model":"MiniMax-Hailuo-02","first_frame_image":"x","resolution":"512P"}`, 100_000),
		},
		"openai/gpt-image-2": {
			{
				body: `{"model":"gpt-image-2","prompt":"x","quality":"low","size":"1024x1024"}`, low: 1_500, high: 7_015,
				answer:  `{"usage":{"output_tokens":196,"input_tokens":10,"input_tokens_details":{"text_tokens":10,"image_tokens":0}}}`,
				settled: 5_880 + 50,
			},
			{ // two pictures were asked for, one was made
				body: `{"model":"gpt-image-2","prompt":"x","quality":"high","size":"1024x1024","n":2}`, low: 3_000, high: 425_015,
				answer:  `{"usage":{"output_tokens":7024,"input_tokens":100,"input_tokens_details":{"text_tokens":60,"image_tokens":40}}}`,
				settled: 210_720 + 300 + 320,
			},
		},
		"openai/gpt-4.1-mini": {
			{
				body: `{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"x"}],"max_tokens":100,"service_tier":"default"}`, low: 1,
				high: 259,
				answer: `{"service_tier":"default","usage":{"prompt_tokens":1000,"completion_tokens":100,` +
					`"prompt_tokens_details":{"cached_tokens":600}}}`, settled: 160 + 60 + 160,
			},
			{
				body: `{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"x"}],"max_tokens":100}`, low: 1, high: 453,
				answer: `{"service_tier":"priority","usage":{"prompt_tokens":1000,"completion_tokens":100}}`, settled: 980,
			},
		},
		"replicate/flux-schnell": {
			exactly(`{"input":{"prompt":"x"}}`, 3_000),
			{
				body: `{"input":{"prompt":"x","num_outputs":4}}`, low: 12_000, high: 12_000, answer: `{"output":["a","b"],"metrics":{"image_count":2}}`,
				settled: 6_000,
			},
		},
		"stability/stable-image-core":  {exactly(`{"prompt":"x"}`, 30_000)},
		"stability/stable-image-ultra": {exactly(`{"prompt":"x"}`, 80_000)},
		"vertexai/veo-3.1-generate-001": {
			exactly(`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":8}}`, 3_200_000),
			exactly(`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":4,"generateAudio":false,"resolution":"4k"}}`, 1_600_000),
			exactly(`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":8,"resolution":"4k"}}`, 4_800_000),
			{ // a filter removed one of two
				body: `{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":8,"sampleCount":2}}`, low: 6_400_000, high: 6_400_000,
				answer: `{"response":{"raiMediaFilteredCount":1,"videos":[{"gcsUri":"a"}]}}`, settled: 3_200_000,
			},
		},
		"wavespeed/flux-schnell": {{
			body: `{"prompt":"x","num_images":3}`, low: 9_000, high: 9_000, answer: `{"data":{"outputs":["a","b"]}}`,
			settled: 6_000,
		}},
		"bfl/flux-2-max": {
			exactly(`{"prompt":"x","width":1024,"height":1024}`, 70_000),
			exactly(`{"prompt":"x","width":2048,"height":1024}`, 100_000),
		},
		"bfl/flux-2-flex": {
			exactly(`{"prompt":"x","width":1024,"height":1024}`, 50_000),
			{
				body: `{"prompt":"x","width":1024,"height":1024,"input_image":"a"}`, low: 50_000, high: 250_000, accepted: `{"cost":10}`,
				settled: 100_000,
			},
		},
		"bfl/flux-kontext-pro": {exactly(`{"prompt":"x"}`, 40_000)},
		"bfl/flux-kontext-max": {exactly(`{"prompt":"x"}`, 80_000)},
		"bfl/flux-pro-1.0-fill": {
			exactly(`{"image":"x","prompt":"x"}`, 50_000), {
				body: `{"image":"x"}`, low: 50_000, high: 50_000, accepted: `{"cost":4}`,
				settled: 40_000,
			},
		},
		"bfl/flux-pro-1.0-expand": {exactly(`{"image":"x","left":64}`, 50_000)},
		"bfl/flux-pro-1.1-ultra":  {exactly(`{"prompt":"x"}`, 60_000)},
		"byteplus/seedance-1-0-pro-fast-251015": {{
			body: `{"model":"seedance-1-0-pro-fast-251015","content":[{"type":"text","text":"x"}]}`, low: 9_555, high: 248_050,
			answer: `{"usage":{"completion_tokens":246840}}`, settled: 246_840,
		}},
		"byteplus/seedance-1-5-pro-251215": {
			{
				body: `{"model":"seedance-1-5-pro-251215","content":[{"type":"text","text":"x"}]}`, low: 13_619, high: 275_880,
				answer: `{"service_tier":"default","usage":{"completion_tokens":108900}}`, settled: 261_360,
			},
			{
				body: `{"model":"seedance-1-5-pro-251215","content":[{"type":"text","text":"x"}],"generate_audio":false,"service_tier":"flex",` +
					`"duration":-1}`, low: 13_619, high: 164_730,
				answer: `{"service_tier":"flex","usage":{"completion_tokens":108900}}`, settled: 65_340,
			},
		},
		"byteplus/dreamina-seedance-2-0-260128": {
			{
				body: `{"model":"dreamina-seedance-2-0-260128","content":[{"type":"text","text":"x"}]}`, low: 162_669, high: 811_300,
				answer: `{"resolution":"720p","usage":{"completion_tokens":108900}}`, settled: 762_300,
			},
			{
				body: `{"model":"dreamina-seedance-2-0-260128","content":[{"type":"text","text":"x"}],"resolution":"1080p"}`, low: 162_669,
				high:   1_925_770,
				answer: `{"resolution":"1080p","usage":{"completion_tokens":245025}}`, settled: 1_886_693,
			},
			{ // a reference video of five seconds
				body: `{"model":"dreamina-seedance-2-0-260128","content":[{"type":"video_url","video_url":{"url":"a"},"role":"reference_video"}]}`,
				low:  162_669, high: 1_968_970,
				answer: `{"resolution":"720p","usage":{"completion_tokens":217800}}`, settled: 936_540,
			},
		},
		"byteplus/seedream-4-5-251128": {
			exactly(`{"model":"seedream-4-5-251128","prompt":"x"}`, 40_000),
			{ // one of three was refused
				body: `{"model":"seedream-4-5-251128","prompt":"x","sequential_image_generation":"auto",` +
					`"sequential_image_generation_options":{"max_images":3}}`, low: 40_000, high: 120_000,
				answer:  `{"data":[{"url":"a"},{"url":"b"},{"error":{"code":"OutputImageSensitiveContentDetected"}}],"usage":{"generated_images":2}}`,
				settled: 80_000,
			},
		},
		"fal/flux-dev":                {exactly(`{"prompt":"x","image_size":{"width":1024,"height":1024}}`, 25_000)},
		"higgsfield/soul-v2-standard": {{body: `{"prompt":"x"}`, low: 40_000, high: 94_000, settled: 94_000}},
		"byteplus/seed-2-0": {{
			body: `{"model":"seed-2-0-pro-260328","input":[{"role":"user","content":"x"}],"max_output_tokens":1000}`, low: 2, high: 16_000,
			answer: `{"usage":{"input_tokens":1000,"output_tokens":500}}`, settled: 2_000,
		}},
		"byteplus_speech/seed-audio-1.0": {{
			body: `{"model":"seed-audio-1.0","text_prompt":"rain"}`, low: 1_000, high: 300_000, answer: `{"audio":"AA==","duration":24}`,
			settled: 60_000,
		}},
		"elevenlabs/speech-to-text": {{
			body: `{"model_id":"scribe_v2","file":"a"}`, low: 100, high: 4_400_000, answer: `{"text":"x","words":[{"text":"x","end":120}]}`,
			settled: 14_600,
		}},
		"fishaudio/asr": {{body: `{"audio":"a"}`, low: 100, high: 360_000, answer: `{"text":"x","duration":60}`, settled: 6_000}},
		"google/gemini-3.1-pro-preview": {
			{
				body: `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":1000}}`, low: 10, high: 37_002,
				answer: `{"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100,"thoughtsTokenCount":400}}`, settled: 8_000,
			},
			{ // a video, and more than 200,000 tokens of input
				body: `{"contents":[{"parts":[{"text":"x"},{"inlineData":{"mimeType":"video/mp4","data":"AA=="}}]}],` +
					`"generationConfig":{"maxOutputTokens":1000}}`, low: 10, high: 2_078_004,
				answer: `{"usageMetadata":{"promptTokenCount":300000,"candidatesTokenCount":100}}`, settled: 1_201_800,
			},
		},
		"google/gemini-3.1-flash-lite": {{
			body: `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":1000}}`, low: 1, high: 7_751,
			answer: `{"usageMetadata":{"promptTokenCount":4000,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":2000}],` +
				`"candidatesTokenCount":1000}}`, settled: 3_000,
		}},
		"heygen/avatar-video": {{
			body: `{"type":"avatar","avatar_id":"a","script":"0123456789"}`, low: 23_900, high: 954_000, answer: `{"data":{"duration":4}}`,
			settled: 381_600,
		}},
		"heygen/speech": {{
			body: `{"text":"0123456789","voice_id":"a"}`, low: 500, high: 9_600, answer: `{"data":{"duration":2}}`, settled: 1_920,
		}},
		"minimax/h3": {{
			body: `{"model":"MiniMax-H3","content":[{"type":"video_url","video_url":{"url":"a"},"role":"reference_video"}],"resolution":"2K",` +
				`"duration":5}`, low: 650_000, high: 2_600_000,
			answer: `{"task":{"usage":{"total_seconds":9}}}`, settled: 1_170_000,
		}},
		"minimax/h3-regeneration": {{
			body: `{"model":"MiniMax-H3","source_task_id":"1","resolution":"2K"}`, low: 200_000, high: 750_000,
			answer: `{"task":{"usage":{"output_seconds":5}}}`, settled: 250_000,
		}},
		"sync/lipsync": {{
			body: `{"model":"sync-3","video":"a","audio":"a","options":{"sync_mode":"bounce"}}`, low: 133_000, high: 79_800_000,
			answer: `{"outputDuration":10}`, settled: 1_330_000,
		}},
		"topaz/enhance-gen": {{body: `{"model":"Reimagine","image":"a"}`, low: 320_000, high: 20_480_000, settled: 20_480_000}},
		"minimax/hailuo-2.3": {
			exactly(`{"model":"MiniMax-Hailuo-2.3","prompt":"x"}`, 280_000),
			exactly(`{"model":"MiniMax-Hailuo-2.3","prompt":"x","duration":10}`, 560_000),
			exactly(`{"model":"MiniMax-Hailuo-2.3","prompt":"x","resolution":"1080P"}`, 490_000),
		},
		"runware/flux-schnell": {
			{
				body: `{"positivePrompt":"xx","width":1024,"height":1024}`, low: 100, high: 1_000,
				answer: `{"data":[{"status":"success","cost":0.0006}]}`, settled: 600,
			},
			{ // two of three were made
				body: `{"positivePrompt":"xx","width":1024,"height":1024,"numberResults":3}`, low: 300, high: 3_000,
				answer: `{"data":[{"status":"success","cost":0.0006},{"status":"error"},{"status":"success","cost":0.0006}]}`, settled: 1_200,
			},
		},
		"stability/stable-diffusion-3.5": {
			exactly(`{"prompt":"x"}`, 65_000),
			exactly(`{"prompt":"x","model":"sd3.5-large-turbo"}`, 40_000),
			exactly(`{"prompt":"x","model":"sd3.5-medium"}`, 35_000),
			exactly(`{"prompt":"x","model":"sd3.5-flash"}`, 25_000),
		},
		"vertexai/veo-3.1-fast-generate-001": {
			exactly(`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":8}}`, 800_000),
			exactly(`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":8,"resolution":"1080p"}}`, 960_000),
			exactly(`{"instances":[{"prompt":"x"}],"parameters":{"durationSeconds":4,"resolution":"4k","generateAudio":false}}`, 1_000_000),
		},
		"xai/grok-imagine-image-quality": {
			exactly(`{"model":"grok-imagine-image-quality","prompt":"x"}`, 50_000),
			{
				body: `{"model":"grok-imagine-image-quality","prompt":"x","resolution":"2k","n":2}`, low: 140_000, high: 140_000,
				answer: `{"data":[{"url":"a"}]}`, settled: 70_000,
			},
		},
		"xai/grok-imagine-video-1.5": {
			exactly(`{"model":"grok-imagine-video-1.5","prompt":"x","duration":10,"resolution":"1080p"}`, 2_500_000),
			exactly(`{"model":"grok-imagine-video-1.5","prompt":"x","image":{"url":"a"}}`, 650_000),
		},
		"xai/grok-imagine-image": {
			exactly(`{"model":"grok-imagine-image","prompt":"x","n":3}`, 60_000),
			{
				body: `{"model":"grok-imagine-image","prompt":"x","n":3}`, low: 60_000, high: 60_000, answer: `{"data":[{"url":"a"}]}`,
				settled: 20_000,
			},
			{
				body: `{"model":"grok-imagine-image","prompt":"x","n":3}`, low: 60_000, high: 60_000,
				answer: `{"data":[{"url":"a"}],"usage":{"cost_in_usd_ticks":400000000}}`, settled: 40_000,
			},
		},
		"xai/grok-imagine-image-edit": {
			exactly(`{"model":"grok-imagine-image","prompt":"x","image":{"url":"a"}}`, 22_000),
			{
				body: `{"model":"grok-imagine-image","prompt":"x","images":[{"url":"a"},{"url":"b"}],"n":2}`, low: 44_000, high: 44_000,
				answer: `{"data":[{"url":"a"}]}`, settled: 24_000,
			},
		},
		"xai/grok-imagine-image-quality-edit": {
			exactly(`{"model":"grok-imagine-image-quality","prompt":"x","resolution":"2k","image":{"url":"a"}}`, 80_000),
			{
				body: `{"model":"grok-imagine-image-quality","prompt":"x","image":{"url":"a"}}`, low: 60_000, high: 60_000,
				answer: `{"data":[{"url":"a"}],"usage":{"cost_in_usd_ticks":700000000}}`, settled: 70_000,
			},
		},
		"xai/grok-imagine-video": {
			exactly(`{"model":"grok-imagine-video","prompt":"x"}`, 400_000),
			{
				body: `{"model":"grok-imagine-video","prompt":"x","duration":1,"image":{"url":"a"}}`, low: 50_000, high: 52_000,
				answer: `{"usage":{"cost_in_usd_ticks":520000000}}`, settled: 52_000,
			},
			exactly(`{"model":"grok-imagine-video","prompt":"x","duration":10,"resolution":"720p"}`, 700_000),
		},
	}
}
