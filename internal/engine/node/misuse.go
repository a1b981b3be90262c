package node

import (
	"slices"
	"strings"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/node/python"
	"github.com/millrace-dev/millrace/internal/engine/raster"
)

// misuse returns the exception that a class of ComfyUI raises for an argument of another type than its input has: it does the same
// steps with the argument as the class. If all steps succeed, misuse returns nil.
func misuse(class *Class, input string, value Value) *python.Exception {
	name, _, _ := strings.Cut(input, ".") // an input that grows has the steps of all its parts
	steps, ok := misuses[class.Name+"."+name]
	if !ok {
		declared, _ := class.Input(name)
		steps = misuses[string(declared.Type)]
		if name == "filename_prefix" {
			steps = misuses[name]
		}
	}
	for _, step := range steps {
		var exception *python.Exception
		if value, exception = step(value); exception != nil {
			return exception
		}
	}
	return nil
}

// step is what a class does with a value: it has a result, or raises an exception.
type step func(value Value) (Value, *python.Exception)

// misuses are the first steps of ComfyUI's classes, by class and input, or by the type of an input.
var misuses = collectSteps(map[string][]step{
	"IMAGE BatchImagesNode.images BatchMasksNode.masks ResizeImageMaskNode.input": {attribute("shape")},

	"MASK": {attribute("reshape")}, "AUDIO": {element("waveform")}, "VIDEO": {attribute("get_components")},
	"filename_prefix": {always("TypeError", "expected str, bytes or os.PathLike object, not %s")},

	"ImageRGBToYUV.image ImageScale.image ImageScaleBy.image ImageScaleToTotalPixels.image": {attribute("movedim")},
	"Canny.image ImageBlur.image ImageCompositeMasked.mask Morphology.image":                {attribute("to")},
	"CenterCropImages.images RandomCropImages.images ResizeImagesByShorterEdge.images":      {attribute("dim")},
	"ImageAddNoise.image ImagePadForOutpaint.image":                                         {attribute("size")},
	"RepeatImageBatch.image": {attribute("repeat")},
	"CropByBBoxes.bboxes":    {element("x")}, "ImageCropV2.crop_region": {attribute("get")},
	"VOIDQuadmaskPreprocess.mask":       {attribute("clone")},
	"Video Slice.video":                 {attribute("as_trimmed")},
	"SaveVideo.video":                   {attribute("get_dimensions")},
	"ImageHistogram.image":              {element(0), attribute("cpu")},
	"ImageToMask.image":                 {slices4D},
	"SplitImageWithAlpha.image":         {first, slices4D},
	"ResizeImagesByLongerEdge.images":   {first, attribute("dim")},
	"JoinImageWithAlpha.image":          {length},
	"JoinImageWithAlpha.alpha":          {length, attribute("to")},
	"AdjustBrightness.images":           {arithmetic("*", false), attribute("clamp")},
	"AdjustContrast.images":             {arithmetic("-", false), attribute("clamp")},
	"NormalizeImages.images":            {arithmetic("-", false)},
	"ImageInvert.image InvertMask.mask": {arithmetic("-", true)},
	"ThresholdMask.mask":                {above, attribute("float")},
	"ImageCompare.image_a ImageCompare.image_b PorterDuffImageComposite.source PorterDuffImageComposite.destination": {
		length, element(0), attribute("shape"),
	},
	"PorterDuffImageComposite.source_alpha PorterDuffImageComposite.destination_alpha": {length, element(0), attribute("unsqueeze")},
	"PreviewImage.images SaveAnimatedPNG.images SaveAnimatedWEBP.images SaveImage.images SaveImageAdvanced.images SaveWEBM.images": {
		element(0), attribute("shape"),
	},
	"ImageDeduplication.images ImageGrid.images MergeImageLists.images ShuffleDataset.images": {
		always("ValueError", "Expected 4D image tensor, got %s shape None"),
	},
	"ImageYUVToRGB.Y ImageYUVToRGB.U ImageYUVToRGB.V": {
		always("TypeError", "mean() received an invalid combination of arguments - got (%s, keepdim=bool, dim=int), but expected one of:"),
	},
	"ImageColorToMask.image": {
		always("TypeError", "clamp() received an invalid combination of arguments - got (%s, int, float), but expected one of:"),
	},
	"ImageFlip.image":   {always("TypeError", "flip(): argument 'input' (position 1) must be Tensor, not %s")},
	"ImageRotate.image": {always("TypeError", "rot90(): argument 'input' (position 1) must be Tensor, not %s")},

	"CaseConverter.string TextToUppercase.texts":                             {attribute("upper")},
	"TextToLowercase.texts":                                                  {attribute("lower")},
	"ComfyMathExpression.expression StringTrim.string StripWhitespace.texts": {attribute("strip")},
	"ReplaceText.texts StringReplace.string":                                 {attribute("replace")},
	"StringCompare.string_a":                                                 {attribute("startswith")},
	"StringFormat.f_string":                                                  {attribute("format")},
	"StringConcatenate.delimiter":                                            {attribute("join")},
	"AddTextPrefix.texts AddTextSuffix.suffix": {
		always("TypeError", `can only concatenate str (not "%s") to str`),
	},
	"AddTextPrefix.prefix AddTextSuffix.texts": {
		always("TypeError", `can only concatenate %s (not "str") to %[1]s`),
	},
	"RegexExtract.string RegexMatch.string RegexReplace.string": {
		always("TypeError", "expected string or bytes-like object, got '%s'"),
	},
	"RegexExtract.regex_pattern RegexMatch.regex_pattern RegexReplace.regex_pattern RegexReplace.replace": {
		always("TypeError", "unhashable type: '%s'"),
	},
	"ReplaceText.find StringReplace.find":       {always("TypeError", "replace() argument 1 must be str, not %s")},
	"ReplaceText.replace StringReplace.replace": {always("TypeError", "replace() argument 2 must be str, not %s")},
	"StringCompare.string_b":                    {always("TypeError", "startswith first arg must be str or a tuple of str, not %s")},
	"StringConcatenate.string_a":                {always("TypeError", "sequence item 0: expected str instance, %s found")},
	"StringConcatenate.string_b":                {always("TypeError", "sequence item 1: expected str instance, %s found")},
	"StringContains.substring":                  {always("TypeError", "'in <string>' requires string as left operand, not %s")},

	"PreviewAudio.audio": {noSound("PreviewAudio"), element("waveform")}, "SaveAudio.audio": {noSound("SaveAudio"), element("waveform")},
	"SaveAudioMP3.audio":  {noSound("SaveAudioMP3"), element("waveform")},
	"SaveAudioOpus.audio": {noSound("SaveAudioOpus"), element("waveform")},
})

// collectSteps gives each of the names of a key, which spaces separate from each other, its steps. Classes whose names have a space
// are alone in their key.
func collectSteps(steps map[string][]step) map[string][]step {
	each := map[string][]step{}
	for names, s := range steps {
		each[names] = s
		for name := range strings.FieldsSeq(names) {
			each[name] = s
		}
	}
	return each
}

// typeName returns Python's name of the type of a value.
func typeName(value Value) string {
	switch v := value.(type) {
	case *raster.Image, *raster.Mask:
		return "Tensor"
	case *media.Sound, Opaque:
		return "dict"
	case *media.Video:
		if v.Frames != nil {
			return "VideoFromComponents"
		}
		return "VideoFromFile"
	case List:
		return "list"
	}
	return python.TypeName(value)
}

// isScalar reports whether a value has neither elements nor a length.
func isScalar(value Value) bool {
	return !slices.Contains([]string{"str", "dict", "list", "Tensor"}, typeName(value))
}

// always raises an exception whose sentence contains the name of the argument's type.
func always(exception, sentence string) step {
	return func(value Value) (Value, *python.Exception) {
		return nil, python.Raise(exception, sentence, typeName(value))
	}
}

// noSound is the refusal of None by a class that saves sounds.
func noSound(class string) step {
	return func(value Value) (Value, *python.Exception) {
		if value == nil {
			return nil, python.Raise("ValueError", "%s: input audio is None (source video may have no audio track).", class)
		}
		return value, nil
	}
}

// attribute takes an attribute of tensors or of videos, whose value is unknown.
func attribute(name string) step {
	return func(value Value) (Value, *python.Exception) {
		kind := typeName(value)
		if ofVideo := strings.HasPrefix(name, "get_") || strings.HasPrefix(name, "as_"); kind == "Tensor" && !ofVideo {
			return value, nil
		}
		return nil, python.Raise("AttributeError", "'%s' object has no attribute '%s'", kind, name)
	}
}

// element takes an element of a value by its index or its key.
func element(key any) step {
	_, byIndex := key.(int)
	return func(value Value) (Value, *python.Exception) {
		switch value.(type) {
		case *raster.Image, *raster.Mask:
			if dimensions := map[bool]int{true: 4, false: 3}; !byIndex {
				_, isImage := value.(*raster.Image)
				return nil, python.Raise("IndexError", "too many indices for tensor of dimension %d", dimensions[isImage])
			}
			return value, nil
		case *media.Sound:
			return nil, python.Raise("KeyError", "%s", python.Repr(key))
		case *media.Video:
			return nil, python.Raise("TypeError", "'%s' object is not subscriptable", typeName(value))
		}
		return python.Element(value, key)
	}
}

// slices4D takes slices of all four dimensions.
func slices4D(value Value) (Value, *python.Exception) {
	switch kind := typeName(value); {
	case isScalar(value):
		return nil, python.Raise("TypeError", "'%s' object is not subscriptable", kind)
	case kind == "str":
		return nil, python.Raise("TypeError", "string indices must be integers, not 'tuple'")
	case kind == "dict":
		return nil, python.Raise("TypeError", "unhashable type: 'slice'")
	}
	return value, nil
}

// first takes the first element of a loop over a value: of an object, a key.
func first(value Value) (Value, *python.Exception) {
	switch {
	case isScalar(value):
		return nil, python.Raise("TypeError", "'%s' object is not iterable", typeName(value))
	case typeName(value) == "dict":
		return "key", nil
	}
	return value, nil
}

// length takes the length of a value, and has the value as its result.
func length(value Value) (Value, *python.Exception) {
	if isScalar(value) {
		return nil, python.Raise("TypeError", "object of type '%s' has no len()", typeName(value))
	}
	return value, nil
}

// arithmetic calculates with a value and a float, which is on the left if before.
func arithmetic(operator string, before bool) step {
	return func(value Value) (Value, *python.Exception) {
		kind := typeName(value)
		left, right := kind, "float"
		if before {
			left, right = right, left
		}
		switch {
		case kind == "Tensor":
			return value, nil
		case slices.Contains([]string{"bool", "int", "float"}, kind):
			return 1.0, nil
		case operator == "*" && (kind == "str" || kind == "list"):
			return nil, python.Raise("TypeError", "can't multiply sequence by non-int of type 'float'")
		}
		return nil, python.Raise("TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", operator, left, right)
	}
}

// above compares a value with a float.
func above(value Value) (Value, *python.Exception) {
	switch kind := typeName(value); kind {
	case "Tensor":
		return value, nil
	case "bool", "int", "float":
		return true, nil
	default:
		return nil, python.Raise("TypeError", "'>' not supported between instances of '%s' and 'float'", kind)
	}
}
