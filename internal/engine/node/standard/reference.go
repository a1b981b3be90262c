package standard

// Reference is the standard with which tests compare the results of a class.
type Reference string

// The references, strictest first.
const (
	Exact       Reference = "exact"       // the class moves, counts or makes values: results are exact by definition
	Pillow      Reference = "Pillow"      // equal to golden files that Pillow made, byte for byte
	FFmpeg      Reference = "ffmpeg"      // within rounding of ffmpeg, with which ComfyUI loads files; lossless files exactly
	Python      Reference = "Python"      // equal to the results of Python's own functions
	Formula     Reference = "formula"     // within rounding of the documented formula, done in NumPy or in the test
	Approximate Reference = "approximate" // made by a codec or a library of another version than the original's
)

// references holds the reference of each class.
var references = map[string]Reference{
	"LoadImage": FFmpeg, "LoadImageMask": FFmpeg, "LoadImageOutput": FFmpeg, "ImageQuantize": Pillow,

	"StringReplace": Python, "StringTrim": Python, "CaseConverter": Python, "StringFormat": Python, "RegexReplace": Python,
	"StringSubstring": Python, "StringLength": Python, "StringContains": Python, "StringCompare": Python,
	"RegexMatch": Python, "RegexExtract": Python, "JsonExtractString": Python,
	"ComfyMathExpression": Python, "ComfyNumberConvert": Python, "ResolutionSelector": Python,

	// Of the scaling classes, lanczos equals Pillow's byte for byte; the other methods follow their formulas.
	"ImageScale": Formula, "ImageScaleBy": Formula, "ImageScaleToTotalPixels": Formula, "ImageScaleToMaxDimension": Formula,
	"ResizeAndPadImage": Formula, "ImageStitch": Formula,
	"SaveImage": Formula, "PreviewImage": Formula, "SaveAnimatedPNG": Formula, "SaveAnimatedWEBP": Formula, "MaskPreview": Formula,
	"ImageBlend": Formula, "ImageBlur": Formula, "ImageSharpen": Formula, "ImageInvert": Formula, "Morphology": Formula,
	"ImageCompositeMasked": Formula, "PorterDuffImageComposite": Formula, "SplitImageWithAlpha": Formula, "JoinImageWithAlpha": Formula,
	"ImagePadForOutpaint": Formula, "ImageBatch": Formula, "BatchImagesNode": Formula,
	"MaskComposite": Formula, "FeatherMask": Formula, "GrowMask": Formula, "ThresholdMask": Formula, "ImageColorToMask": Formula,
	"InvertMask":                Formula,
	"ResizeImagesByShorterEdge": Pillow, "ResizeImagesByLongerEdge": Pillow, "CenterCropImages": Pillow, "RandomCropImages": Pillow,
	"ImageGrid": Pillow, "ImageDeduplication": Pillow, "ShuffleDataset": Python, "ShuffleImageTextDataset": Python,
	"ShuffleVideoDataset": Python, "ShuffleVideoTextDataset": Python,
	"FluxKontextImageScale": Pillow, "ConvertDictionaryToString": Python, "ConvertArrayToString": Python,
	"NormalizeImages": Formula, "AdjustBrightness": Formula, "AdjustContrast": Formula,
	"ResizeImageMaskNode": Formula, "ImageCompositor": Formula, "ColorTransfer": Formula, "CropByBBoxes": Formula,
	"VOIDQuadmaskPreprocess": Formula, "BatchMasksNode": Formula, "ImageCropToMask": Formula, "ImageMergeTileList": Formula,
	"ImageRGBToYUV": Formula, "ImageYUVToRGB": Formula, "ImageHistogram": Formula, "Canny": Formula, "ImageAddNoise": Formula,
	"SaveImageWebsocket": Formula, "SaveImageAdvanced": Formula, "ImageCompare": Formula,
	"TextToLowercase": Python, "TextToUppercase": Python, "StripWhitespace": Python, "ReplaceText": Python,
	"SaveAudioAdvanced": Approximate, "VideoFrameSample": Approximate, "VideoTemporalCrop": Approximate,
	"VideoRandomTemporalCrop": Approximate,

	"AudioConcat": Formula, "AudioMerge": Formula, "AudioAdjustVolume": Formula, "AudioEqualizer3Band": Formula, "JoinAudioChannels": Formula,

	"LoadAudio": Approximate, "SaveAudioMP3": Approximate, "SaveAudioOpus": Approximate, "GetVideoComponents": Approximate,
	"SaveVideo": Approximate, "SaveWEBM": Approximate,
}

// ReferenceOf returns the reference of a class.
func ReferenceOf(class string) Reference {
	if r, ok := references[class]; ok {
		return r
	}
	return Exact
}

// Describe returns a text for the documentation.
func (r Reference) Describe() string {
	switch r {
	case Pillow:
		return "equal to what Pillow gives, byte for byte"
	case FFmpeg:
		return "within rounding of what ffmpeg reads"
	case Python:
		return "equal to what Python's own functions give"
	case Formula:
		return "formula, within rounding"
	case Approximate:
		return "approximate: the codec decides"
	case Exact:
	}
	return "exact"
}
