package python

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Tensor is a PyTorch tensor of 32-bit floats on the CPU. Value returns an element by its index in row-major order.
type Tensor struct {
	Shape []int
	Value func(i int) float32
}

// Settings with which PyTorch prints tensors.
const (
	tensorThreshold = 1000 // a larger tensor is abbreviated
	tensorLine      = 80   // characters
	tensorDigits    = 4    // after the decimal point
	tensorPrefix    = "tensor("
)

// String renders the tensor as str does after torch.set_printoptions(edgeitems=edge): a large tensor shows edge
// elements at either end of each dimension.
func (t Tensor) String(edge int) string {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	if n == 0 {
		sizes := make([]string, len(t.Shape))
		for i, d := range t.Shape {
			sizes[i] = strconv.Itoa(d)
		}
		return tensorPrefix + "[], size=(" + strings.Join(sizes, ", ") + "))"
	}
	p := tensorPrinter{Tensor: t, edge: math.MaxInt / 4}
	if n > tensorThreshold {
		p.edge = edge
	}
	p.choose()
	return tensorPrefix + p.part(0, 0, len(tensorPrefix)) + ")"
}

// tensorPrinter holds the number format, which depends on the elements that are printed.
type tensorPrinter struct {
	Tensor
	edge       int
	integers   bool
	scientific bool
	width      int
}

// shown returns the indexes of a dimension that are printed, with -1 in place of omitted ones.
func (p *tensorPrinter) shown(size int, gap bool) []int {
	var out []int
	for i := range size {
		switch {
		case size <= 2*p.edge, i < p.edge, i >= size-p.edge:
			out = append(out, i)
		case i == p.edge && gap:
			out = append(out, -1)
		}
	}
	return out
}

// each visits every element that is printed.
func (p *tensorPrinter) each(dim, offset int, visit func(v float64)) {
	for _, i := range p.shown(p.Shape[dim], false) {
		at := offset*p.Shape[dim] + i
		if dim == len(p.Shape)-1 {
			visit(float64(p.Value(at)))
		} else {
			p.each(dim+1, at, visit)
		}
	}
}

// choose sets the width and the format: whole numbers, a fixed number of digits, or exponents.
func (p *tensorPrinter) choose() {
	p.integers, p.width = true, 1
	low, high := math.Inf(1), 0.0
	var values []float64
	p.each(0, 0, func(v float64) {
		if v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			values = append(values, v)
			low, high = min(low, math.Abs(v)), max(high, math.Abs(v))
			p.integers = p.integers && v == math.Ceil(v)
		}
	})
	if len(values) == 0 {
		return
	}
	p.scientific = high/low > 1000 || high > 1e8 || low < 1e-4
	for _, v := range values {
		p.width = max(p.width, len(p.digits(v)))
	}
}

// digits renders a number without padding.
func (p *tensorPrinter) digits(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return Float(v)
	case p.scientific:
		return fmt.Sprintf("%.*e", tensorDigits, v)
	case p.integers:
		return fmt.Sprintf("%.0f.", v)
	default:
		return fmt.Sprintf("%.*f", tensorDigits, v)
	}
}

// part renders everything below an index of a dimension.
func (p *tensorPrinter) part(dim, offset, indent int) string {
	indexes := p.shown(p.Shape[dim], true)
	parts := make([]string, len(indexes))
	last := dim == len(p.Shape)-1
	for k, i := range indexes {
		switch at := offset*p.Shape[dim] + i; {
		case i < 0 && last:
			parts[k] = " ..."
		case i < 0:
			parts[k] = "..."
		case last:
			parts[k] = fmt.Sprintf("%*s", p.width, p.digits(float64(p.Value(at))))
		default:
			parts[k] = p.part(dim+1, at, indent+1)
		}
	}
	margin := strings.Repeat(" ", indent+1)
	if !last {
		return "[" + strings.Join(parts, ","+strings.Repeat("\n", len(p.Shape)-dim-1)+margin) + "]"
	}
	var lines []string
	for line := range slices.Chunk(parts, max(1, (tensorLine-indent)/(p.width+2))) {
		lines = append(lines, strings.Join(line, ", "))
	}
	return "[" + strings.Join(lines, ",\n"+margin) + "]"
}
