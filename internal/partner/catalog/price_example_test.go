package catalog_test

// examplePrices are the prices of the examples of models, in millionths of a US dollar: the lower and the upper end.
func examplePrices() map[string][2]int64 {
	return map[string][2]int64{
		"kling/avatar": {112_000, 16_800_000}, "kling/image-generation": {28_000, 28_000}, "kling/omni-image": {28_000, 28_000},
		"kling/omni-video": {420_000, 1_120_000}, "kling/video-extend": {280_000, 280_000},
		"anthropic/messages": {10, 121_440}, "openrouter/chat": {0, 1_500_000},
		"bfl/erase-v1": {50_000, 50_000}, "bfl/video-upscale-v1": {100_000, 12_000_000}, "bfl/vto-v1": {72_500, 72_500},
		"bria/erase": {40_000, 40_000}, "bria/expand": {40_000, 40_000}, "bria/gen-fill": {40_000, 40_000}, "bria/image-edit": {40_000, 40_000},
		"bria/increase-resolution": {40_000, 40_000}, "bria/remove-background": {18_000, 18_000},
		"krea/krea-2-large": {40_000, 150_000}, "krea/krea-2-medium": {20_000, 75_000}, "krea/krea-2-medium-turbo": {10_000, 60_000},
		"ltx/ltx-2-5-image-to-video": {200_000, 2_000_000}, "ltx/ltx-2-5-text-to-video": {200_000, 2_000_000},
		"ltx/ltx-2-image-to-video": {240_000, 240_000}, "ltx/ltx-2-text-to-video": {240_000, 240_000},
		"magnific/image-relight": {110_000, 110_000}, "magnific/image-style-transfer": {110_000, 110_000},
		"magnific/image-upscaler": {100_000, 4_000_000}, "magnific/image-upscaler-precision-v2": {100_000, 4_000_000},
		"magnific/skin-enhancer": {290_000, 450_000},
		"reve/create":            {10_000, 120_000}, "reve/edit": {10_000, 120_000}, "reve/remix": {10_000, 120_000},
		"xai/grok-imagine-video-extension": {250_000, 500_000},
		"ideogram/ideogram-v3":             {30_000, 30_000}, "ideogram/ideogram-v3-edit": {60_000, 60_000}, "ideogram/ideogram-v4": {60_000, 60_000},
		"ideogram/p-image-ideogram": {10_000, 10_000},
		"luma/photon-1":             {15_000, 15_000}, "luma/photon-flash-1": {2_000, 2_000}, "luma/ray-2": {400_000, 9_750_000},
		"luma/ray-flash-2": {130_000, 3_500_000},
		"luma_2/ray-3.2":   {100_000, 7_200_000}, "luma_2/uni-1": {40_400, 40_400}, "luma_2/uni-1-max": {100_000, 100_000},
		"recraft/create-style": {40_000, 40_000}, "recraft/creative-upscale": {250_000, 250_000}, "recraft/crisp-upscale": {4_000, 4_000},
		"recraft/image-to-image": {40_000, 40_000}, "recraft/inpaint": {40_000, 40_000}, "recraft/recraftv3": {40_000, 40_000},
		"recraft/recraftv4": {35_000, 35_000}, "recraft/remove-background": {10_000, 10_000}, "recraft/replace-background": {40_000, 40_000},
		"recraft/vectorize": {10_000, 10_000},
		"runway/aleph2":     {800_000, 12_020_000}, "runway/gen3a_turbo": {250_000, 250_000}, "runway/gen4_image": {50_000, 80_000},
		"runway/gen4_turbo": {250_000, 250_000},
		"vidu/img2video":    {40_000, 1_000_000}, "vidu/multiframe": {40_000, 1_600_000}, "vidu/reference2video": {40_000, 1_000_000},
		"vidu/start-end2video": {40_000, 1_000_000}, "vidu/text2video": {40_000, 1_000_000},
		"wan/qwen-image-3.0": {40_000, 56_000}, "wan/wan2.5-i2i-preview": {30_000, 30_000}, "wan/wan2.5-t2i-preview": {30_000, 30_000},
		"wan/wan2.6-i2v": {500_000, 500_000}, "wan/wan2.6-t2v": {500_000, 500_000}, "wan/wan2.7-i2v": {500_000, 500_000},
		"wan/wan2.7-r2v": {500_000, 1_000_000}, "wan/wan2.7-t2v": {500_000, 500_000},
	}
}
