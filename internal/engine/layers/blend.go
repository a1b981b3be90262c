package layers

import "math"

// rgb holds the three colours of a pixel.
type rgb [3]float32

// mode is a way to mix a layer with the picture below it.
type mode struct {
	name       string
	perceptual bool                       // mixed in sRGB, else in linear light
	channel    func(i, l float32) float32 // mixes one channel of the picture below and of the layer
	colour     func(i, l rgb) rgb         // mixes whole pixels, in place of channel
}

// tiny is the largest divisor that counts as zero.
const tiny = 1e-6

// modes are all modes, in ComfyUI's order. The first covers the picture below and adds to its alpha; the others show
// only where the picture below is not transparent.
var modes = []mode{
	{"normal", false, func(_, l float32) float32 { return l }, nil},
	{"multiply", false, func(i, l float32) float32 { return i * l }, nil},
	{"screen", true, screen, nil},
	{"overlay", true, overlay, nil},
	{"darken", false, func(i, l float32) float32 { return min(i, l) }, nil},
	{"lighten", false, func(i, l float32) float32 { return max(i, l) }, nil},
	{"color-dodge", true, func(i, l float32) float32 { return dodge(i, 1-l) }, nil},
	{"color-burn", true, func(i, l float32) float32 { return burn(i, l) }, nil},
	{"hard-light", true, hardLight, nil},
	{"soft-light", true, func(i, l float32) float32 { return (1-i)*(i*l) + i*screen(i, l) }, nil},
	{"difference", true, func(i, l float32) float32 { return abs(i - l) }, nil},
	{"exclusion", true, func(i, l float32) float32 { return 0.5 - 2*(i-0.5)*(l-0.5) }, nil},
	{"linear-dodge", false, func(i, l float32) float32 { return i + l }, nil},
	{"linear-burn", true, func(i, l float32) float32 { return i + l - 1 }, nil},
	{"vivid-light", true, vividLight, nil},
	{"pin-light", true, pinLight, nil},
	{"linear-light", true, func(i, l float32) float32 { return i + 2*l - 1 }, nil},
	{"hard-mix", true, hardMix, nil},
	{"subtract", false, func(i, l float32) float32 { return max(i-l, 0) }, nil},
	{"divide", false, func(i, l float32) float32 { return min(max(i/max(l, tiny), 0), 1) }, nil},
	{"grain-extract", true, func(i, l float32) float32 { return i - l + 0.5 }, nil},
	{"grain-merge", true, func(i, l float32) float32 { return i + l - 0.5 }, nil},
	{"hue", true, nil, hue},
	{"saturation", true, nil, saturation},
	{"color", true, nil, colour},
	{"luminosity", false, nil, luminosity},
}

// Modes returns the names of all modes, normal first.
func Modes() []string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = m.name
	}
	return names
}

// modeOf returns the mode of that name, or normal.
func modeOf(name string) *mode {
	for i := range modes {
		if modes[i].name == name {
			return &modes[i]
		}
	}
	return &modes[0]
}

// mix returns the colour of the layer l mixed with the picture i below it.
func (m *mode) mix(i, l rgb) rgb {
	if m.colour != nil {
		return m.colour(i, l)
	}
	return rgb{m.channel(i[0], l[0]), m.channel(i[1], l[1]), m.channel(i[2], l[2])}
}

func abs(v float32) float32 { return max(v, -v) }

func screen(i, l float32) float32 { return 1 - float32((1-i)*(1-l)) }

func overlay(i, l float32) float32 {
	if i < 0.5 {
		return 2 * i * l
	}
	return 1 - 2*(1-l)*(1-i)
}

// dodge brightens i; the smaller by, the brighter the result.
func dodge(i, by float32) float32 {
	switch {
	case i <= 0:
		return 0
	case by <= tiny:
		return 1
	}
	return min(i/by, 1)
}

// burn darkens i; the smaller by, the darker the result.
func burn(i, by float32) float32 {
	switch {
	case i >= 1:
		return 1
	case by <= tiny:
		return 0
	}
	return 1 - min((1-i)/by, 1)
}

func hardLight(i, l float32) float32 {
	if l > 0.5 {
		return min(1-(1-i)*(1-(l-0.5)*2), 1)
	}
	return min(i*(l*2), 1)
}

func vividLight(i, l float32) float32 {
	if l <= 0.5 {
		return burn(i, 2*l)
	}
	return dodge(i, 2*(1-l))
}

func pinLight(i, l float32) float32 {
	if l > 0.5 {
		return max(i, 2*(l-0.5))
	}
	return min(i, 2*l)
}

func hardMix(i, l float32) float32 {
	if i+l < 1 {
		return 0
	}
	return 1
}

func (c rgb) low() float32  { return min(c[0], c[1], c[2]) }
func (c rgb) high() float32 { return max(c[0], c[1], c[2]) }
func grey(v float32) rgb    { return rgb{v, v, v} }

// scaled returns each channel times by, plus offset. The conversions keep processors from fusing the product and the
// sum, here as elsewhere in this file.
func (c rgb) scaled(by, offset float32) rgb {
	return rgb{float32(c[0]*by) + offset, float32(c[1]*by) + offset, float32(c[2]*by) + offset}
}

// saturated returns the difference between the brightest and the darkest channel, divided by the brightest.
func (c rgb) saturated() float32 {
	high := c.high()
	if high == 0 {
		return 0
	}
	return (high - c.low()) / high
}

// hue returns the layer's hue with the saturation and the value of the picture below.
func hue(i, l rgb) rgb {
	span := l.high() - l.low()
	if span <= tiny {
		return i
	}
	ratio := i.saturated() * i.high() / span
	return l.scaled(ratio, i.high()-l.high()*ratio)
}

// saturation returns the layer's saturation with the hue and the value of the picture below.
func saturation(i, l rgb) rgb {
	high := i.high()
	span := high - i.low()
	if span <= tiny {
		return grey(high)
	}
	ratio := l.saturated() * high / span
	return i.scaled(ratio, (1-ratio)*high)
}

// colour returns the layer's hue and saturation with the lightness of the picture below.
func colour(i, l rgb) rgb {
	below, above := (i.low()+i.high())/2, (l.low()+l.high())/2
	if abs(above) <= tiny || abs(1-above) <= tiny {
		return grey(below)
	}
	room := min(below, 1-below)
	ratio := room / min(above, 1-above)
	var offset float32
	if below > 0.5 {
		offset = 1 - 2*room
	}
	if above > 0.5 {
		offset += 2*room - ratio
	}
	return l.scaled(ratio, offset)
}

// luminosity scales the picture below to the layer's luminance. Where the picture below is black, the result is grey.
func luminosity(i, l rgb) rgb {
	below, above := luminance(i), luminance(l)
	if below <= tiny {
		return grey(above)
	}
	return i.scaled(above/below, 0)
}

func luminance(c rgb) float32 {
	return float32(c[0]*0.2224884) + float32(c[1]*0.71690369) + float32(c[2]*0.06060791)
}

// The exponents are those of 32-bit floats.
const (
	toLight   = float64(float32(2.4))
	fromLight = float64(float32(1 / 2.4))
)

// linear converts a value of sRGB to linear light.
func linear(v float32) float32 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return float32(math.Pow(float64((v+0.055)/1.055), toLight))
}

// encoded converts linear light to a value of sRGB.
func encoded(v float32) float32 {
	if v <= 0.0031308 {
		return 12.92 * v
	}
	return float32(1.055*float32(math.Pow(float64(v), fromLight))) - 0.055
}

func (c rgb) each(f func(float32) float32) rgb { return rgb{f(c[0]), f(c[1]), f(c[2])} }
