package metadata

import (
	"bytes"
	"encoding/binary"
	"io"
)

// oggPage is the signature of a page of an Ogg file.
const oggPage = "OggS"

// page is a page of an Ogg file: its header with the table of its segments, and its body.
type page struct{ head, body []byte }

// oggHead is the length of a page's header without the segment table; its last byte is the length of the table.
const (
	oggHead     = 27
	oggChecksum = 22 // offset of the checksum
)

// readPage reads a page. If it fails, head contains the bytes that were read.
func readPage(r io.Reader) (page, error) {
	head := make([]byte, oggHead, oggHead+255)
	n, err := io.ReadFull(r, head)
	if err != nil || string(head[:4]) != oggPage {
		return page{head: head[:n]}, err
	}
	table := head[oggHead : oggHead+int(head[oggHead-1])]
	n, err = io.ReadFull(r, table)
	head = head[:oggHead+n]
	if err != nil {
		return page{head: head}, err
	}
	length := 0
	for _, l := range table {
		length += int(l)
	}
	body := make([]byte, length)
	n, err = io.ReadFull(r, body)
	return page{head, body[:n]}, err
}

// copyOgg replaces the prompt in the pages of an Ogg file by a text of the same length, and updates their checksums.
func (g *Graph) copyOgg(w io.Writer, r io.Reader) error {
	for {
		p, err := readPage(r)
		pages := []page{p}
		if err == nil && string(p.head[:4]) == oggPage {
			pages, err = g.replacePages(r, pages)
		} else if err == nil { // not a page
			if _, err := w.Write(p.head); err != nil {
				return err
			}
			return g.copyPadded(w, r)
		}
		for _, p := range pages {
			if _, err := w.Write(append(p.head, p.body...)); err != nil {
				return err
			}
		}
		if err != nil {
			return truncatedFile(err)
		}
	}
}

// replacePages replaces the prompt that begins in a page. It reads the pages on which the prompt continues.
func (g *Graph) replacePages(r io.Reader, pages []page) ([]page, error) {
	if !bytes.Contains(pages[0].body, []byte(g.begin)) {
		return pages, nil
	}
	text := bytes.Clone(pages[0].body)
	for {
		f, whole, ok := g.find(text)
		if ok && whole {
			return split(pages, g.insertAt(text, f, true)), nil
		}
		if !ok || len(text) > maxText {
			return pages, nil
		}
		p, err := readPage(r)
		pages = append(pages, p)
		if err != nil {
			return pages, err
		}
		text = append(text, p.body...)
	}
}

// split distributes a text of the same length over pages and updates their checksums.
func split(pages []page, text []byte) []page {
	for i := range pages {
		p := &pages[i]
		n := copy(p.body, text)
		text = text[n:]
		binary.LittleEndian.PutUint32(p.head[oggChecksum:], 0)
		binary.LittleEndian.PutUint32(p.head[oggChecksum:], oggCRC(oggCRC(0, p.head), p.body))
	}
	return pages
}

// oggTable is the table of the polynomial of Ogg's checksum, most significant bit first.
var oggTable = func() (table [256]uint32) {
	for i := range table {
		v := uint32(i) << 24
		for range 8 {
			if v&(1<<31) != 0 {
				v = v<<1 ^ 0x04c11db7
			} else {
				v <<= 1
			}
		}
		table[i] = v
	}
	return table
}()

func oggCRC(sum uint32, data []byte) uint32 {
	for _, b := range data {
		sum = sum<<8 ^ oggTable[byte(sum>>24)^b]
	}
	return sum
}
