package codec

// The functions of this file work on the eight bytes of a word at once, or on four lanes of 16 bits.
const (
	byteOnes = 0x0101010101010101
	byteTops = 0x8080808080808080
	laneOnes = 0x0001000100010001
	laneTops = 0x8000800080008000
	evens    = 0x00ff00ff00ff00ff
)

// subtract8 returns the differences of bytes, modulo 256.
func subtract8(a, b uint64) uint64 {
	return ((a | byteTops) - (b &^ byteTops)) ^ ((a ^ ^b) & byteTops)
}

// mean8 returns the means of bytes, rounded down.
func mean8(a, b uint64) uint64 {
	return a&b + ((a^b)&^byteOnes)>>1
}

// magnitudes returns the sum of the absolute values of bytes taken as signed.
func magnitudes(d uint64) int {
	negative := d & byteTops >> 7
	d = (d ^ negative*0xff) + negative
	return int((d&evens + d>>8&evens) * laneOnes >> 48)
}

// predict8 is predict for each byte.
func predict8(a, b, c uint64) uint64 {
	return predict4(a&evens, b&evens, c&evens) | predict4(a>>8&evens, b>>8&evens, c>>8&evens)<<8
}

// predict4 is predict for bytes in lanes.
func predict4(a, b, c uint64) uint64 {
	pa, pb, pc := distance4(b, c), distance4(a, c), distance4(a+b, c+c)
	left := notAbove4(pa, pb) & notAbove4(pa, pc)
	above := notAbove4(pb, pc) &^ left
	return a&left | b&above | c&^(left|above)
}

// distance4 returns the absolute differences of lanes below 1<<15.
func distance4(a, b uint64) uint64 {
	d := (a | laneTops) - b // its top bits say where a >= b
	negative := (^d & laneTops >> 15)
	return (d ^ laneTops ^ negative*0xffff) + negative
}

// notAbove4 returns all bits of those lanes in which a <= b; both are below 1<<15.
func notAbove4(a, b uint64) uint64 {
	return (((b | laneTops) - a) & laneTops >> 15) * 0xffff
}
